-- What a statement of ours runs in the place of itself. Idempotent; {version} is Gavial's own.
CREATE SCHEMA IF NOT EXISTS gavial;
COMMENT ON SCHEMA gavial IS 'standing queries: what the proxy runs in the place of its own statements';
GRANT USAGE ON SCHEMA gavial TO PUBLIC;

CREATE OR REPLACE FUNCTION gavial.tag(tag text) RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    SET client_min_messages = notice
AS $body$
BEGIN
    IF current_setting('gavial.nonce', true) <> '' THEN
        RAISE NOTICE USING ERRCODE = 'GV001', MESSAGE = current_setting('gavial.nonce'), DETAIL = tag;
    END IF;
    RETURN;
END
$body$;
COMMENT ON FUNCTION gavial.tag(text) IS
    'returns no row and tells the proxy the command tag of the statement that ends here';

CREATE OR REPLACE VIEW gavial.about ("gavial.version") AS
    SELECT {version}::text UNION ALL SELECT * FROM gavial.tag('SHOW');
COMMENT ON VIEW gavial.about IS 'answer of SHOW gavial.version';
COMMENT ON COLUMN gavial.about."gavial.version" IS 'version of Gavial that installed this schema';
GRANT SELECT ON gavial.about TO PUBLIC;
