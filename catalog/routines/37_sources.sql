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
COMMENT ON FUNCTION gavial.has_other_files(jsonb) IS 'whether one of these tables was truncated, or written anew';

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
