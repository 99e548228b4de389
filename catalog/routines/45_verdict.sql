-- Whether a query can be maintained is for the proxy to say. It is asked in notices, which it swallows, and answers
-- with an advisory lock on one of two numbers: every other way to tell a running statement something would depend
-- on its snapshot.
CREATE OR REPLACE FUNCTION gavial.bracketed(view oid) RETURNS text
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
    SELECT pg_catalog.pg_get_viewdef($1)
$body$;
COMMENT ON FUNCTION gavial.bracketed(oid) IS 'a view''s SELECT under fixed settings, with every bracket';

CREATE OR REPLACE FUNCTION gavial.types_of(view oid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $body$
    WITH RECURSIVE types (oid) AS (
        SELECT a.atttypid
        FROM (SELECT l.layer FROM gavial.layers($1) l UNION SELECT i.relation FROM gavial.inputs($1) i) AS read (oid)
        JOIN pg_attribute a ON a.attrelid = read.oid AND a.attnum > 0 AND NOT a.attisdropped
        UNION
        SELECT d.refobjid
        FROM gavial.layers($1) l JOIN pg_rewrite r ON r.ev_class = l.layer
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_type'::regclass
        UNION
        SELECT near.oid FROM types JOIN pg_type t ON t.oid = types.oid
        CROSS JOIN unnest(ARRAY[t.typelem, t.typarray, t.typbasetype]) AS near (oid)
    )
    SELECT coalesce(jsonb_agg(jsonb_build_array(t.oid::int8, n.nspname, t.typname, t.typtype, t.typcategory, t.typispreferred,
        CASE WHEN t.typcategory = 'A' AND t.typarray = 0 THEN t.typelem ELSE 0 END::int8,
        t.typarray::int8, t.typbasetype::int8, t.typcollation::int8) ORDER BY t.oid), '[]')
    FROM types JOIN pg_type t ON t.oid = types.oid JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE t.oid >= 16384 AND t.typtype <> 'c'
$body$;
COMMENT ON FUNCTION gavial.types_of(oid) IS 'the user-defined types that a view and what it reads are about';

CREATE OR REPLACE FUNCTION gavial.is_scheduled(options jsonb, explained jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(current_setting('gavial.nonce', true), '') <> ''
       AND (coalesce(options ?| ARRAY['FINAL_WORK', 'LATENCY_GOAL'], false) OR explained IS NOT NULL)
$body$;
COMMENT ON FUNCTION gavial.is_scheduled(jsonb, jsonb) IS 'whether it is asked how often, and by what engine, parts of a query would be computed';

CREATE OR REPLACE FUNCTION gavial.question(view oid, request jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $body$
    SELECT jsonb_build_object(
        'server', (SELECT concat(current_setting('server_version_num'), ' ', d.oid) FROM pg_database d WHERE d.datname = current_database()),
        'view', $1::int8,
        'views', (SELECT jsonb_agg(gavial.relation(l.layer) || jsonb_build_object('text', gavial.bracketed(l.layer)))
                  FROM gavial.layers($1) l),
        'tables', (SELECT coalesce(jsonb_agg(gavial.relation(i.relation) || jsonb_build_object('wide', gavial.wide_columns(i.relation))), '[]')
                   FROM (SELECT DISTINCT relation FROM gavial.inputs($1)) i),
        'types', gavial.types_of($1),
        -- How collations are written that columns have, other than that of the database.
        'collations', (
            SELECT coalesce(jsonb_object_agg(c.oid, format('%I.%I', n.nspname, c.collname)), '{}')
            FROM (SELECT DISTINCT a.attcollation
                  FROM (SELECT relation FROM gavial.inputs($1) UNION SELECT layer FROM gavial.layers($1)) AS read (oid)
                  JOIN pg_attribute a ON a.attrelid = read.oid AND a.attnum > 0 AND NOT a.attisdropped) AS used
            JOIN pg_collation c ON c.oid = used.attcollation JOIN pg_namespace n ON n.oid = c.collnamespace
            WHERE c.collname <> 'default'),
        -- Whether text under the database's own collation has the order of its bytes.
        'binary', (SELECT d.datlocprovider <> 'i' AND d.datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8')
                   FROM pg_database d WHERE d.datname = current_database()),
        'places', coalesce(request -> 'places', '{}'),
        'options', coalesce(request -> 'options', '{}'),
        'explain', request -> 'explain',
        'kept', coalesce((request ->> 'kept')::boolean, false),
        'figures', CASE WHEN gavial.is_scheduled(request -> 'options', request #> '{explain,options}')
                        THEN gavial.figures($1) END)
$body$;
COMMENT ON FUNCTION gavial.question(oid, jsonb) IS 'everything that binding a view needs to know of the database';

CREATE OR REPLACE FUNCTION gavial.known_for_plan(view oid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_build_object(
        'statistics', (SELECT coalesce(jsonb_agg(gavial.sizes(i.relation) ORDER BY i.relation), '[]')
                       FROM (SELECT DISTINCT relation FROM gavial.inputs($1)) i),
        'plan', (SELECT jsonb_build_object('fingerprint', k.fingerprint, 'statistics', k.statistics, 'paces', k.paces,
                                           'status', s.status)
                 FROM gavial.kept_plans k JOIN gavial.standing_queries s ON s.view_oid = k.view WHERE k.view = $1))
$body$;
COMMENT ON FUNCTION gavial.known_for_plan(oid) IS 'what a query is planned by: statistics of its tables, and the plan that is kept';

CREATE OR REPLACE FUNCTION gavial.is_taken(number bigint) RETURNS boolean
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN pg_try_advisory_lock_shared($1) THEN NOT pg_advisory_unlock_shared($1) ELSE true END
$body$;
COMMENT ON FUNCTION gavial.is_taken(bigint) IS 'whether another session holds the advisory lock on a number';

CREATE OR REPLACE FUNCTION gavial.tell_proxy(words text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    SET client_min_messages = notice
AS $body$
BEGIN
    RAISE NOTICE USING ERRCODE = 'GV002', MESSAGE = current_setting('gavial.nonce'), DETAIL = words;
END
$body$;
COMMENT ON FUNCTION gavial.tell_proxy(text) IS 'a notice for the proxy alone: part of a question, its end, waiting for the answer, or the answer was heard';

CREATE OR REPLACE FUNCTION gavial.await_verdict(view oid, request jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    ticket bigint := ('x' || md5(gen_random_uuid()::text))::bit(62)::bigint * 2;
    patience CONSTANT interval := '20 seconds';
    asked timestamptz;
    last_notice timestamptz;
    pause float8 := 0.001;
    question text;
BEGIN
    -- A statement that came by another way than through the proxy is not judged.
    IF coalesce(current_setting('gavial.nonce', true), '') = '' THEN
        RETURN;
    END IF;
    -- In letters that every encoding of a client has, and in pieces that the proxy holds back to read.
    question := encode(convert_to((gavial.question(view, request) || gavial.known_for_plan(view) || jsonb_build_object('ticket', ticket))::text, 'UTF8'), 'base64');
    FOR piece IN 0 .. length(question) / 30000 LOOP
        PERFORM gavial.tell_proxy('part ' || substr(question, piece * 30000 + 1, 30000));
    END LOOP;
    PERFORM gavial.tell_proxy('end');
    asked := clock_timestamp();
    last_notice := asked;
    WHILE NOT gavial.is_taken(ticket) LOOP
        IF gavial.is_taken(ticket + 1) THEN
            RAISE EXCEPTION USING ERRCODE = 'GV003', MESSAGE = 'the standing query was refused',
                HINT = 'The client is told why.';
        ELSIF clock_timestamp() > asked + patience THEN
            RAISE cannot_connect_now USING MESSAGE = 'the standing query could not be checked',
                DETAIL = 'The proxy gave no answer in time.', HINT = 'Try again.';
        ELSIF clock_timestamp() > last_notice + interval '1 second' THEN
            IF last_notice = asked THEN
                RAISE NOTICE 'waiting for the proxy to check and plan the query';
            END IF;
            -- PostgreSQL notices that a proxy is gone by writing to it.
            PERFORM gavial.tell_proxy('waiting');
            last_notice := clock_timestamp();
        END IF;
        PERFORM pg_sleep(pause);
        pause := least(pause * 1.2, 0.01);
    END LOOP;
    PERFORM gavial.tell_proxy('heard');
END
$body$;
COMMENT ON FUNCTION gavial.await_verdict(oid, jsonb) IS 'asks the proxy whether a view can be maintained; an error if not';
