-- ALTER TABLE may rewrite all rows of a table with other values, and the stream tells nothing of it.
CREATE OR REPLACE FUNCTION gavial.columns_computed_anew(relation oid) RETURNS smallint[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT ARRAY(
        SELECT a.attnum FROM gavial.captured_columns($1) a
        WHERE a.attgenerated <> '' OR NOT EXISTS (
            SELECT FROM jsonb_array_elements((
                SELECT s.columns FROM gavial.schemas s WHERE s.relation = $1 ORDER BY s.version DESC LIMIT 1)) c
            WHERE (c ->> 0)::int = a.attnum))
$body$;
REVOKE ALL ON FUNCTION gavial.columns_computed_anew(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.columns_computed_anew(oid) IS
    'the columns of a captured table that have other values when its rows are rewritten because of a default or a generated column';

CREATE OR REPLACE FUNCTION gavial.columns_altered(relation oid) RETURNS smallint[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- ALTER COLUMN TYPE writes the column's row in the catalog, also where USING alone gives it other values.
    SELECT ARRAY(
        SELECT a.attnum FROM pg_attribute a
        WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped AND age(a.xmin) <= age(pg_current_xact_id()::xid))
$body$;
REVOKE ALL ON FUNCTION gavial.columns_altered(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.columns_altered(oid) IS 'the columns of a table that the transaction under way has altered';

CREATE OR REPLACE FUNCTION gavial.on_rewrite() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    written CONSTANT oid := pg_event_trigger_table_rewrite_oid();
    reason CONSTANT int := pg_event_trigger_table_rewrite_reason();
    of_a_default CONSTANT int := 2;
    of_a_type CONSTANT int := 4;
    changed CONSTANT smallint[] := CASE WHEN reason & of_a_default <> 0 THEN gavial.columns_computed_anew(written) ELSE '{}' END
        || CASE WHEN reason & of_a_type <> 0 THEN gavial.columns_altered(written) ELSE '{}' END;
BEGIN
    -- A column that came with a default of its own for each row, or got another type, is read by nobody, and the others
    -- are what they were. A copy of rows by key has all columns of them.
    UPDATE gavial.sources s SET outdated = ARRAY(SELECT unnest(s.outdated) UNION SELECT unnest(changed))
    WHERE s.relation = written AND s.state = 'captured'
      AND reason & ~(of_a_default | of_a_type) = 0
      AND (reason = of_a_default OR s.old_rows IS NULL)
      AND NOT EXISTS (
        SELECT FROM gavial.reads r JOIN gavial.queries q ON q.id = r.query_id
        WHERE r.relation = written AND gavial.columns_read(q.view, written) && changed);
    IF FOUND THEN
        UPDATE gavial.sources s SET unstorable = gavial.unstorable_values(written)
        WHERE s.relation = written AND s.unstorable IS NOT NULL;
        UPDATE gavial.sources s SET state = 'joining', detail = 'a partition was rewritten; it is copied again'
        WHERE s.state <> 'stopped' AND s.relation <> written AND written = ANY (s.leaves);
    ELSE
        UPDATE gavial.sources s
        SET state = 'joining', detail = 'its rows were rewritten; it is copied again'
        WHERE s.state <> 'stopped' AND written IN (SELECT gavial.leaves(s.relation));
    END IF;
    IF FOUND THEN
        NOTIFY gavial;
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.on_rewrite() IS 'a captured table is copied again when ALTER TABLE rewrites it, unless only columns that nobody reads changed';

DROP EVENT TRIGGER IF EXISTS gavial_rewrite;
CREATE EVENT TRIGGER gavial_rewrite ON table_rewrite EXECUTE FUNCTION gavial.on_rewrite();
