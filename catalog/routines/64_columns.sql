-- Columns of captured tables that come or change. Event triggers belong to superusers.
CREATE OR REPLACE FUNCTION gavial.columns_retyped(relation oid) RETURNS smallint[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT ARRAY(
        SELECT a.attnum
        FROM gavial.sources s JOIN gavial.captured_columns($1) a ON a.attnum <> ALL (s.outdated)
        CROSS JOIN jsonb_array_elements((
            SELECT v.columns FROM gavial.schemas v WHERE v.relation = $1 ORDER BY v.version DESC LIMIT 1)) c
        WHERE s.relation = $1 AND (c ->> 0)::int = a.attnum
            AND ((c ->> 2)::oid, (c ->> 3)::int) <> (a.atttypid, a.atttypmod))
$body$;
REVOKE ALL ON FUNCTION gavial.columns_retyped(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.columns_retyped(oid) IS
    'columns that were of another type when rows of a table were captured, of which that is not known yet';

CREATE OR REPLACE FUNCTION gavial.new_columns(relation oid) RETURNS TABLE (number int, is_told boolean, value text)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET "DateStyle" = 'ISO, MDY'
    SET "IntervalStyle" = 'postgres'
    SET "TimeZone" = 'UTC'
    SET bytea_output = 'hex'
    SET extra_float_digits = 1
AS $body$
    SELECT a.attnum::int, a.atthasmissing AND l.known IS NULL, (a.attmissingval::text::text[])[1]
    FROM gavial.captured_columns($1) a CROSS JOIN LATERAL (
        SELECT (SELECT c FROM jsonb_array_elements(s.columns) c WHERE (c ->> 0)::int = a.attnum) AS known
        FROM gavial.schemas s WHERE s.relation = $1 ORDER BY s.version DESC LIMIT 1
    ) l
    -- A default that a plain table got later is in no older row; of a partitioned one it may be in its partitions'.
    WHERE CASE WHEN l.known IS NULL THEN a.atthasmissing
                OR a.atthasdef AND (SELECT c.relkind = 'p' FROM pg_class c WHERE c.oid = $1)
                OR EXISTS (SELECT FROM gavial.sources s WHERE s.relation = $1 AND a.attnum = ANY (s.generated))
          ELSE a.attnum = ANY (gavial.columns_retyped($1)) END
$body$;
REVOKE ALL ON FUNCTION gavial.new_columns(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.new_columns(oid) IS
    'columns that the captured rows of a table lack, or have of another type: whether one value holds in all of them, and which';

CREATE OR REPLACE FUNCTION gavial.on_columns() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    -- What is altered about a partitioned table is altered about its partitions, which are not named.
    altered regclass[] := ARRAY(
        SELECT DISTINCT s.relation FROM gavial.sources s JOIN pg_event_trigger_ddl_commands() c
            ON c.objid = s.relation OR c.objid IN (SELECT a FROM pg_partition_ancestors(s.relation) a)
        WHERE s.state = 'captured');
BEGIN
    -- Another type without a rewrite of the rows. PostgreSQL refuses it for columns that a view reads.
    UPDATE gavial.sources s SET outdated = s.outdated || gavial.columns_retyped(s.relation)
    WHERE s.relation = ANY (altered) AND s.old_rows IS NULL AND cardinality(gavial.columns_retyped(s.relation)) > 0
      AND EXISTS (SELECT FROM pg_event_trigger t WHERE t.evtname = 'gavial_rewrite' AND t.evtenabled <> 'D');
    INSERT INTO gavial.defaults (relation, number, value)
    SELECT t, n.number, n.value FROM unnest(altered) t CROSS JOIN LATERAL gavial.new_columns(t) n WHERE n.is_told
    ON CONFLICT DO NOTHING;
    UPDATE gavial.sources s SET state = 'joining', detail = 'its columns changed; it is copied again'
    WHERE s.relation = ANY (altered) AND EXISTS (SELECT FROM gavial.new_columns(s.relation) n WHERE NOT n.is_told);
    IF FOUND THEN
        NOTIFY gavial;
    END IF;
    -- Afterwards, so that a column that was generated until now is still known as one above.
    UPDATE gavial.sources s SET generated = ARRAY(SELECT unnest(s.generated) UNION SELECT unnest(gavial.uncaptured_columns(s.relation)))
    WHERE s.relation = ANY (altered) AND NOT gavial.uncaptured_columns(s.relation) <@ s.generated;
END
$body$;
COMMENT ON FUNCTION gavial.on_columns() IS
    'keeps what columns are in older rows, and which of them older rows lack; a table of which no one value tells that is copied again';

DROP EVENT TRIGGER IF EXISTS gavial_columns;
CREATE EVENT TRIGGER gavial_columns ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION gavial.on_columns();
