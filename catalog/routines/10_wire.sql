-- What a statement of ours runs in the place of itself, and how its command tag reaches the client.
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

CREATE OR REPLACE FUNCTION gavial.refuse(
    sqlstate text, message text, detail text = NULL, hint text = NULL, place int = NULL
) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    -- The place travels as the constraint's name; the proxy makes it the position.
    RAISE USING ERRCODE = sqlstate, MESSAGE = message, DETAIL = coalesce(detail, ''), HINT = coalesce(hint, ''),
        CONSTRAINT = 'gavial:' || coalesce(place::text, '');
END
$body$;
COMMENT ON FUNCTION gavial.refuse(text, text, text, text, int) IS
    'raises an error that points at a place of the client''s text';
