-- EXPLAIN and SHOW: what a query is bound to, and what is known of it.
CREATE OR REPLACE FUNCTION gavial.canonical(view oid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = ''
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET intervalstyle = 'postgres'
    SET extra_float_digits = 1
    SET bytea_output = 'hex'
    SET quote_all_identifiers = off
    SET standard_conforming_strings = on
AS $body$
    SELECT pg_catalog.pg_get_viewdef($1, true)
$body$;
COMMENT ON FUNCTION gavial.canonical(oid) IS 'a view''s SELECT as PostgreSQL understands it, under fixed settings';

CREATE OR REPLACE FUNCTION gavial.described(view oid, named text, options jsonb, format text, status jsonb = '{}') RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
AS $body$
DECLARE
    columns jsonb;
    reads jsonb;
BEGIN
    SELECT jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum)
    INTO columns FROM pg_attribute a WHERE a.attrelid = view AND a.attnum > 0;
    SELECT coalesce(jsonb_agg(i.relation::regclass::text ORDER BY i.relation::regclass::text), '[]')
    INTO reads FROM (SELECT DISTINCT relation FROM gavial.inputs(view)) i;
    IF format = 'DOT' THEN
        RETURN;
    END IF;
    IF format = 'JSON' THEN
        RETURN NEXT jsonb_pretty(jsonb_build_object('standing_query', named, 'columns', columns, 'reads', reads,
            'options', options, 'bound_query', gavial.canonical(view)) || status);
        RETURN;
    END IF;
    RETURN NEXT 'Standing query ' || named;
    IF status ->> 'status' <> 'active' THEN
        RETURN NEXT '  Status: ' || concat_ws(': ', status ->> 'status', status ->> 'status_detail');
    END IF;
    IF status ->> 'next_trigger' IS NOT NULL THEN
        RETURN NEXT '  Next trigger: ' || date_trunc('second', (status ->> 'next_trigger')::timestamptz);
    END IF;
    RETURN QUERY SELECT '  Output: ' || string_agg(format('%I %s', c ->> 'name', c ->> 'type'), ', ') FROM jsonb_array_elements(columns) c;
    RETURN QUERY SELECT '  Reads: ' || coalesce(string_agg(r, ', '), 'nothing') FROM jsonb_array_elements_text(reads) r;
    RETURN QUERY SELECT format('  Option: %s = %s', o.key, o.value) FROM jsonb_each_text(options) o ORDER BY o.key;
    RETURN NEXT '  Bound query:';
    RETURN QUERY SELECT '    ' || line FROM regexp_split_to_table(gavial.canonical(view), '\n') line;
END
$body$;
COMMENT ON FUNCTION gavial.described(oid, text, jsonb, text, jsonb) IS 'a bound query as EXPLAIN prints it';

CREATE OR REPLACE FUNCTION gavial.status_of(view oid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_build_object('status', s.status, 'status_detail', gavial.detail_of_status(s.status, s.status_detail, s.position))
        || CASE WHEN s.due IS NULL THEN '{}' ELSE jsonb_build_object('next_trigger', s.due) END
    FROM gavial.standing_queries s WHERE s.view_oid = $1
$body$;
COMMENT ON FUNCTION gavial.status_of(oid) IS 'the status of a standing query, and why it is not active';

CREATE OR REPLACE FUNCTION gavial.explain(request jsonb) RETURNS SETOF text
    LANGUAGE plpgsql
AS $body$
DECLARE
    lines pg_catalog.text[];
BEGIN
    IF pg_catalog.jsonb_extract_path(request, 'create') IS NULL THEN
        RETURN QUERY SELECT * FROM gavial.explain_existing(
            pg_catalog.to_regclass(pg_catalog.jsonb_extract_path_text(request, 'as_written')), request);
        RETURN;
    END IF;
    -- A query that is only explained is made, looked at, and unmade.
    BEGIN
        EXECUTE gavial.create_view_command(pg_catalog.jsonb_extract_path(request, 'create'), NULL, 'pg_temp.gavial_explained');
        EXECUTE 'EXPLAIN SELECT * FROM pg_temp.gavial_explained';
        lines := gavial.explain_created(request);
        RAISE SQLSTATE 'GV004';
    EXCEPTION WHEN SQLSTATE 'GV004' THEN
        NULL;
    END;
    RETURN QUERY SELECT pg_catalog.unnest(lines);
END
$body$;
COMMENT ON FUNCTION gavial.explain(jsonb) IS 'rows of EXPLAIN STANDING QUERY and of EXPLAIN CREATE STANDING QUERY';

CREATE OR REPLACE FUNCTION gavial.explain_existing(target regclass, request jsonb) RETURNS SETOF text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    known regclass := gavial.known(target, request);
    created jsonb;
    measured CONSTANT jsonb := gavial.analysed(target, request);
BEGIN
    PERFORM gavial.tell_without_effect(request -> 'without_effect');
    SELECT jsonb_build_object('options', q.options) INTO created FROM gavial.queries q WHERE q.view = known;
    RETURN QUERY
    SELECT gavial.with_schedule(gavial.with_measured(d.line, measured, request), request) FROM gavial.queries q
    CROSS JOIN LATERAL gavial.described(q.view, q.result::text, q.options, request ->> 'format', gavial.status_of(q.view)) AS d (line)
    WHERE q.view = known;
    RETURN QUERY SELECT * FROM gavial.explained_by_proxy(known, created, request);
    IF request ->> 'format' = 'TEXT' AND measured IS NOT NULL THEN
        RETURN QUERY SELECT * FROM gavial.measured_lines(measured);
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.explain_existing(regclass, jsonb) IS 'a standing query as EXPLAIN prints it';

CREATE OR REPLACE FUNCTION gavial.explain_created(request jsonb) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    view CONSTANT regclass := 'pg_temp.gavial_explained'::regclass;
    lines text[];
BEGIN
    IF request -> 'options' ? 'ANALYZE' THEN
        PERFORM gavial.refuse('0A000', 'EXPLAIN ANALYZE needs a standing query that is there', NULL, 'Create it, or leave ANALYZE out.');
    END IF;
    PERFORM gavial.check_query(view, request #> '{create,places}');
    lines := ARRAY(SELECT gavial.explained_by_proxy(view, request -> 'create', request));
    PERFORM gavial.tell_without_effect((request #> '{create,without_effect}') || (request -> 'without_effect'));
    RETURN ARRAY(SELECT gavial.with_schedule(d.line, request)
                 FROM gavial.described(view, request #>> '{create,as_written}', request #> '{create,options}',
                     request ->> 'format') AS d (line)) || lines;
END
$body$;
COMMENT ON FUNCTION gavial.explain_created(jsonb) IS 'a query that is only explained, while it is there';

CREATE OR REPLACE FUNCTION gavial.with_measured(line text, measured jsonb, request jsonb) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN request ->> 'format' = 'JSON' AND measured IS NOT NULL
                THEN jsonb_pretty(line::jsonb || jsonb_build_object('measured', measured))
                ELSE line END
$body$;
COMMENT ON FUNCTION gavial.with_measured(text, jsonb, jsonb) IS 'what is known of a query as JSON, with what was measured';

CREATE OR REPLACE FUNCTION gavial.with_schedule(line text, request jsonb) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- In the place of the word the proxy puts a value.
    SELECT CASE WHEN request ->> 'format' = 'JSON' AND coalesce(current_setting('gavial.nonce', true), '') <> ''
                THEN jsonb_pretty(line::jsonb || jsonb_build_object('schedule', current_setting('gavial.nonce')))
                ELSE line END
$body$;
COMMENT ON FUNCTION gavial.with_schedule(text, jsonb) IS 'what is known of a query as JSON, with how it is computed';

CREATE OR REPLACE FUNCTION gavial.explained_by_proxy(view oid, created jsonb, request jsonb) RETURNS SETOF text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF coalesce(current_setting('gavial.nonce', true), '') = '' THEN
        RETURN;
    END IF;
    PERFORM gavial.await_verdict(view, created || jsonb_build_object('explain',
        jsonb_build_object('format', request -> 'format', 'options', request -> 'options')));
    IF request ->> 'format' <> 'JSON' THEN
        -- In the place of this line the proxy puts its own.
        RETURN NEXT current_setting('gavial.nonce');
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.explained_by_proxy(oid, jsonb, jsonb) IS 'how a query was bound and is computed: only the proxy knows';

CREATE OR REPLACE FUNCTION gavial.show(target regclass, request jsonb) RETURNS TABLE (property text, value text)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    PERFORM gavial.known(target, request);
    RETURN QUERY
    SELECT p.key, CASE p.key WHEN 'status_detail' THEN gavial.detail_of_status(s.status, p.value, s.position) ELSE p.value END
    FROM gavial.standing_queries s CROSS JOIN LATERAL json_each_text(row_to_json(s)) WITH ORDINALITY AS p (key, value, place)
    WHERE s.table_oid = target ORDER BY p.place;
END
$body$;
COMMENT ON FUNCTION gavial.show(regclass, jsonb) IS 'rows of SHOW STANDING QUERY';
