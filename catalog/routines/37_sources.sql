-- Whether what is captured of a table is still what the table holds.
CREATE OR REPLACE FUNCTION gavial.files_of(leaves regclass[]) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(jsonb_object_agg(l::oid, pg_relation_filenode(l)), '{}') FROM unnest(leaves) l
$body$;
REVOKE ALL ON FUNCTION gavial.files_of(regclass[]) FROM PUBLIC;
COMMENT ON FUNCTION gavial.files_of(regclass[]) IS 'the files in which tables lie, by oid';

CREATE OR REPLACE FUNCTION gavial.has_other_files(files jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT EXISTS (SELECT FROM jsonb_each_text(files) f WHERE pg_relation_filenode(f.key::oid) <> f.value::oid)
$body$;
REVOKE ALL ON FUNCTION gavial.has_other_files(jsonb) FROM PUBLIC;
COMMENT ON FUNCTION gavial.has_other_files(jsonb) IS 'whether one of these tables was truncated, or rewritten';

CREATE OR REPLACE FUNCTION gavial.columns_read(view oid, relation oid) RETURNS smallint[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT ARRAY(
        SELECT DISTINCT d.refobjsubid::smallint
        FROM gavial.layers($1) l JOIN pg_rewrite r ON r.ev_class = l.layer
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $2 AND d.refobjsubid > 0)
$body$;
REVOKE ALL ON FUNCTION gavial.columns_read(oid, oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.columns_read(oid, oid) IS 'attnums of the columns of a table that a view names, also in views below it';

CREATE OR REPLACE FUNCTION gavial.copy_outdated(view oid) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $body$
    UPDATE gavial.sources s SET state = 'joining', detail = 'a column is read whose older values are not captured; it is copied again'
    WHERE s.state = 'captured' AND s.relation IN (SELECT i.relation FROM gavial.inputs($1) i)
      AND s.outdated && gavial.columns_read($1, s.relation)
$body$;
REVOKE ALL ON FUNCTION gavial.copy_outdated(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.copy_outdated(oid) IS 'has tables copied again of which a view reads more than is captured';

CREATE OR REPLACE FUNCTION gavial.unstorable_values(relation oid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT string_agg(format('column "%s": %s', a.attname, v.why), ' ' ORDER BY a.attnum)
    FROM (
        SELECT u.key AS name, max(u.value ->> 1) AS why
        FROM gavial.batches b CROSS JOIN jsonb_each(b.unstorable) u
        WHERE b.buffer = 'table-' || $1 AND b.unstorable <> '{}'
        GROUP BY u.key HAVING sum((u.value ->> 0)::bigint) <> 0) v
    JOIN pg_attribute a ON a.attrelid = $1 AND v.name = 'a' || a.attnum
    -- Of older values of these columns nothing is known, and nobody reads them.
    WHERE NOT EXISTS (SELECT FROM gavial.sources s WHERE s.relation = $1 AND a.attnum = ANY (s.outdated))
$body$;
REVOKE ALL ON FUNCTION gavial.unstorable_values(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.unstorable_values(oid) IS 'the columns of a table with values that cannot be stored, and why one cannot; null: there are none';

CREATE OR REPLACE FUNCTION gavial.wide_columns(relation oid) RETURNS smallint[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce((SELECT s.wide FROM gavial.sources s WHERE s.relation = $1), '{}')
$body$;
COMMENT ON FUNCTION gavial.wide_columns(oid) IS 'attnums of the columns of a table that are stored with room for every value';

CREATE OR REPLACE FUNCTION gavial.may_be_wide(type oid, modifier int) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE
        WHEN t.typbasetype <> 0 THEN gavial.may_be_wide(t.typbasetype, t.typtypmod)
        WHEN t.typcategory = 'A' AND t.typarray = 0 THEN true
        ELSE t.oid = 'numeric'::regtype AND $2 <> -1 END
    FROM pg_type t WHERE t.oid = $1
$body$;
REVOKE ALL ON FUNCTION gavial.may_be_wide(oid, int) FROM PUBLIC;
COMMENT ON FUNCTION gavial.may_be_wide(oid, int) IS 'whether there is a way to store values of a type that has room for more of them';

CREATE OR REPLACE FUNCTION gavial.widen(relation oid, number int) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    -- A copy that is under way notices that it is not what is wanted any more.
    UPDATE gavial.sources s SET wide = s.wide || $2::smallint,
        state = CASE s.state WHEN 'captured' THEN 'joining' ELSE s.state END,
        detail = format('column "%s" has a value for which more room is needed; it is copied again', a.attname)
    FROM pg_attribute a
    WHERE s.relation = $1 AND s.state <> 'stopped' AND $2 <> ALL (s.wide)
      AND a.attrelid = $1 AND a.attnum = $2 AND gavial.may_be_wide(a.atttypid, a.atttypmod);
    IF FOUND THEN
        NOTIFY gavial;
        RETURN true;
    END IF;
    RETURN EXISTS (SELECT FROM gavial.sources s WHERE s.relation = $1 AND s.state IN ('joining', 'copying'));
END
$body$;
REVOKE ALL ON FUNCTION gavial.widen(oid, int) FROM PUBLIC;
COMMENT ON FUNCTION gavial.widen(oid, int) IS
    'has a captured table copied again with more room for the values of a column; false where nothing is done about them';

CREATE OR REPLACE FUNCTION gavial.hold_sources(query uuid) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    held int;
BEGIN
    PERFORM FROM gavial.sources s
    WHERE s.relation IN (SELECT r.relation FROM gavial.reads r WHERE r.query_id = hold_sources.query)
      AND s.state = 'captured' AND NOT coalesce(gavial.has_other_files(s.files), false)
    FOR SHARE SKIP LOCKED;
    GET DIAGNOSTICS held = ROW_COUNT;
    RETURN held = (SELECT count(*) FROM gavial.reads r WHERE r.query_id = hold_sources.query);
END
$body$;
REVOKE ALL ON FUNCTION gavial.hold_sources(uuid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.hold_sources(uuid) IS
    'whether all that a query reads is captured, and stays so until the transaction ends';
