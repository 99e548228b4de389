-- Statements that wait for the coordinator: on the client's own backend, a transaction for each look, so that any
-- snapshot is a new one and that cancelling and statement_timeout work. Procedures that end transactions may have no
-- settings of their own: everything in them is qualified, and they have no operator.
CREATE OR REPLACE FUNCTION gavial.refusal_to_commit() RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    words text;
BEGIN
    COMMIT;
EXCEPTION WHEN invalid_transaction_termination THEN
    GET STACKED DIAGNOSTICS words = MESSAGE_TEXT;
    RETURN words;
END
$body$;
COMMENT ON FUNCTION gavial.refusal_to_commit() IS 'in the session''s language, what PostgreSQL says to COMMIT where a procedure may not end the transaction';

CREATE OR REPLACE PROCEDURE gavial.look_around(INOUT alone boolean)
    LANGUAGE plpgsql
AS $body$
DECLARE
    words pg_catalog.text;
BEGIN
    -- This never commits: here it is refused in one way because of the exception clause, and in another one, before
    -- that, inside a transaction block or a string of several statements.
    COMMIT;
EXCEPTION WHEN invalid_transaction_termination THEN
    GET STACKED DIAGNOSTICS words = MESSAGE_TEXT;
    alone := gavial.is_alone(words);
END
$body$;
COMMENT ON PROCEDURE gavial.look_around(boolean) IS 'whether the statement under way is a transaction of its own';

CREATE OR REPLACE FUNCTION gavial.is_alone(words text) RETURNS boolean
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- What was written earlier in a pipeline would be committed too.
    SELECT words <> gavial.refusal_to_commit() AND pg_current_xact_id_if_assigned() IS NULL
$body$;
COMMENT ON FUNCTION gavial.is_alone(text) IS 'whether a transaction may be ended now that nothing but a statement of ours is in, by what is said to COMMIT';

CREATE OR REPLACE FUNCTION gavial.require_alone(alone boolean, tag text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF NOT alone THEN
        PERFORM gavial.refuse('25001', format('%s cannot run inside a transaction block', tag));
    ELSIF current_setting('transaction_read_only')::boolean THEN
        PERFORM gavial.refuse('25006', format('cannot execute %s in a read-only transaction', tag));
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.require_alone(boolean, text) IS 'refuses a statement that has to be a transaction of its own where it is not';

CREATE OR REPLACE FUNCTION gavial.refresh_command(target regclass, request jsonb, run uuid) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    PERFORM gavial.known(target, request), gavial.may_change(target);
    RETURN gavial.request('refresh', target, NULL, jsonb_build_object('run', run));
END
$body$;
COMMENT ON FUNCTION gavial.refresh_command(regclass, jsonb, uuid) IS 'the command that asks for a new answer';

CREATE OR REPLACE FUNCTION gavial.ask(kind text, result oid, run uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    INSERT INTO gavial.runs (id, query_id, kind, target)
    SELECT run, q.id, ask.kind, pg_current_wal_insert_lsn() FROM gavial.queries q WHERE q.result = ask.result;
    -- Something to capture that lies behind the target, and on disk as soon as it is committed.
    PERFORM pg_logical_emit_message(true, 'gavial', '');
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
    NOTIFY gavial;
END
$body$;
COMMENT ON FUNCTION gavial.ask(text, oid, uuid) IS 'enters what a client waits for: an answer, or its verification, with all that was committed before';
REVOKE ALL ON FUNCTION gavial.ask(text, oid, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION gavial.is_coordinated() RETURNS boolean
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- The lock that whoever answers the queries of a database holds; to try and take it could get in its way.
    SELECT EXISTS (
        SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted
          AND (l.classid, l.objid, l.objsubid) = (26465::oid, 1986617709::oid, 1))
$body$;
COMMENT ON FUNCTION gavial.is_coordinated() IS 'whether somebody is at work on this database''s queries';

CREATE OR REPLACE FUNCTION gavial.progress_of_firing(query uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT e.progress FROM gavial.executions e
    WHERE e.id = (SELECT max(id) FROM gavial.executions) AND progress_of_firing.query = ANY (e.query_ids) AND e.finished IS NULL
$body$;
COMMENT ON FUNCTION gavial.progress_of_firing(uuid) IS 'how far the firing has come that a query is worked by, if it lasts';

CREATE OR REPLACE VIEW gavial.awaited WITH (security_barrier) AS
    SELECT r.id, r.asked, r.state, coalesce(r.progress, gavial.progress_of_firing(r.query_id)) AS progress, r.sqlstate, r.message, r.detail, r.hint
    FROM gavial.runs r JOIN gavial.queries q ON q.id = r.query_id JOIN pg_class c ON c.oid = q.result
    WHERE pg_has_role(c.relowner, 'USAGE');
COMMENT ON VIEW gavial.awaited IS 'runs of REFRESH and VERIFY, for those who may act as the owner of the query';
COMMENT ON COLUMN gavial.awaited.id IS 'identity of the run';
COMMENT ON COLUMN gavial.awaited.asked IS 'when the statement began';
COMMENT ON COLUMN gavial.awaited.state IS 'waiting, running, done or failed';
COMMENT ON COLUMN gavial.awaited.progress IS 'what is being done';
COMMENT ON COLUMN gavial.awaited.sqlstate IS 'why it failed';
COMMENT ON COLUMN gavial.awaited.message IS 'the same in words';
COMMENT ON COLUMN gavial.awaited.detail IS 'more of it';
COMMENT ON COLUMN gavial.awaited.hint IS 'what can be done';
GRANT SELECT ON gavial.awaited TO PUBLIC;

CREATE OR REPLACE FUNCTION gavial.reads_of(query uuid) RETURNS SETOF regclass
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT r.relation FROM gavial.reads r WHERE r.query_id = query
$body$;
COMMENT ON FUNCTION gavial.reads_of(uuid) IS 'the tables that a standing query reads';

CREATE OR REPLACE FUNCTION gavial.news_of_runs(runs uuid[]) RETURNS text
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    run gavial.awaited;
BEGIN
    IF (SELECT count(*) FROM gavial.awaited r WHERE r.id = ANY (runs)) <> cardinality(runs) THEN
        -- Its runs go with a query.
        PERFORM gavial.refuse('42704', 'the standing query was dropped');
    END IF;
    SELECT * INTO run FROM gavial.awaited r
    WHERE r.id = ANY (runs) AND r.state <> 'done' ORDER BY r.state <> 'failed', r.asked, r.id LIMIT 1;
    IF run.state = 'failed' THEN
        PERFORM gavial.refuse(run.sqlstate, run.message, run.detail, run.hint);
    END IF;
    RETURN CASE WHEN run.id IS NOT NULL THEN coalesce(run.progress, '') END;
END
$body$;
COMMENT ON FUNCTION gavial.news_of_runs(uuid[]) IS 'how far what a client waits for has come; null when it is done, an error when it failed';

CREATE OR REPLACE FUNCTION gavial.progress_of(query uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(
        (SELECT CASE s.state
            WHEN 'copying' THEN format('copying %s', s.relation) || CASE WHEN c.reltuples > 0 THEN format(': about %s rows', c.reltuples::bigint) ELSE '' END
            ELSE concat_ws(': ', format('%s waits to be copied', s.relation), s.detail) END
         FROM gavial.reads_of(query) r (relation) JOIN gavial.sources s USING (relation) JOIN pg_class c ON c.oid = s.relation
         WHERE s.state <> 'captured' ORDER BY s.state, s.relation::text LIMIT 1),
        (SELECT q.status_detail FROM gavial.standing_queries q WHERE q.id = query),
        gavial.progress_of_firing(query), 'computing the answer')
$body$;
COMMENT ON FUNCTION gavial.progress_of(uuid) IS 'what is being done for the first answer of a query';

CREATE OR REPLACE FUNCTION gavial.news_of_answer(query uuid) RETURNS text
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    now gavial.standing_queries;
    stopped gavial.sources;
BEGIN
    SELECT * INTO now FROM gavial.standing_queries q WHERE q.id = query;
    SELECT s.* INTO stopped FROM gavial.reads_of(query) r (relation) JOIN gavial.sources s USING (relation)
    WHERE s.state = 'stopped' ORDER BY s.relation LIMIT 1;
    IF now.id IS NULL THEN
        PERFORM gavial.warn_of_answer('42704', 'The standing query was dropped.');
    ELSIF now.status = 'initialising' AND stopped.relation IS NOT NULL THEN
        PERFORM gavial.warn_of_answer('55000', format('%s: %s', stopped.relation, stopped.detail));
    ELSIF now.status = 'initialising' THEN
        RETURN gavial.progress_of(query);
    ELSIF now.status <> 'active' THEN
        PERFORM gavial.warn_of_answer(coalesce(now.status_sqlstate, '55000'), coalesce(now.status_detail, 'It is ' || now.status || '.'));
    END IF;
    RETURN NULL;
END
$body$;
COMMENT ON FUNCTION gavial.news_of_answer(uuid) IS 'how far the first answer of a query has come; null when it is there, or with a warning when it will not come';

CREATE OR REPLACE FUNCTION gavial.warn_of_answer(sqlstate text, detail text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    RAISE WARNING USING ERRCODE = sqlstate, MESSAGE = 'the standing query is kept, and not answered yet', DETAIL = detail;
END
$body$;
COMMENT ON FUNCTION gavial.warn_of_answer(text, text) IS 'says why a standing query has no answer yet';

CREATE OR REPLACE FUNCTION gavial.looked(waiting jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    time float8 := extract(epoch FROM clock_timestamp());
    -- A proxy that has no coordinator beside it waits for none to start.
    patience float8 := coalesce(nullif(current_setting('gavial.patience', true), ''), '20')::float8;
    news text;
BEGIN
    IF waiting ? 'query' THEN
        news := gavial.news_of_answer((waiting ->> 'query')::uuid);
    ELSE
        news := gavial.news_of_runs(ARRAY(SELECT jsonb_array_elements_text(waiting -> 'runs')::uuid));
    END IF;
    IF news IS NULL THEN
        RETURN NULL;
    END IF;
    IF time > coalesce((waiting ->> 'looked')::float8 + 1, 0) THEN
        IF gavial.is_coordinated() THEN
            waiting := waiting || jsonb_build_object('seen', time);
        ELSIF time >= coalesce((waiting ->> 'seen')::float8, time) + patience THEN
            RETURN gavial.nobody_works(waiting);
        END IF;
        IF coalesce(current_setting('gavial.nonce', true), '') <> '' THEN
            -- PostgreSQL notices that a client is gone by writing to it.
            PERFORM gavial.tell_proxy('waiting');
        END IF;
        waiting := jsonb_build_object('seen', time) || waiting || jsonb_build_object('looked', time);
    END IF;
    IF news <> coalesce(waiting ->> 'told', '') THEN
        RAISE NOTICE USING MESSAGE = news;
    END IF;
    RETURN waiting || jsonb_build_object('told', news, 'pause', least(coalesce((waiting ->> 'pause')::float8, 0.005) * 1.2, 0.05));
END
$body$;
COMMENT ON FUNCTION gavial.looked(jsonb) IS 'what is left to wait for, after telling the client how far it has come; null when nothing is';

CREATE OR REPLACE FUNCTION gavial.nobody_works(waiting jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF waiting ? 'query' THEN
        PERFORM gavial.warn_of_answer('57P03', 'No coordinator is at work on this database.');
        RETURN NULL;
    END IF;
    PERFORM gavial.refuse('57P03', 'no coordinator is at work on this database', NULL,
        'Start "gavial serve" without --proxy-only for this server, and try again.');
    RETURN NULL;
END
$body$;
COMMENT ON FUNCTION gavial.nobody_works(jsonb) IS 'ends the waiting for a coordinator that is not there';

CREATE OR REPLACE FUNCTION gavial.rest(waiting jsonb) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT pg_sleep((waiting ->> 'pause')::float8)
$body$;
COMMENT ON FUNCTION gavial.rest(jsonb) IS 'sleeps between two looks';

CREATE OR REPLACE FUNCTION gavial.give_up(waiting jsonb) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    DELETE FROM gavial.runs WHERE id IN (SELECT jsonb_array_elements_text(waiting -> 'runs')::uuid)
$body$;
COMMENT ON FUNCTION gavial.give_up(jsonb) IS 'takes back what a client no longer waits for';

CREATE OR REPLACE FUNCTION gavial.end_cancelled(waiting jsonb, words text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF waiting ? 'query' THEN
        PERFORM gavial.warn_of_answer('57014', words);
    ELSE
        PERFORM gavial.refuse('57014', words);
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.end_cancelled(jsonb, text) IS 'the end of a statement that was cancelled while it waited: a query that was made stays';

CREATE OR REPLACE PROCEDURE gavial.wait(waiting jsonb)
    LANGUAGE plpgsql
AS $body$
DECLARE
    left_over pg_catalog.jsonb := waiting;
    words pg_catalog.text;
BEGIN
    LOOP
        BEGIN
            left_over := gavial.looked(left_over);
            PERFORM gavial.rest(left_over);
        EXCEPTION WHEN query_canceled THEN
            GET STACKED DIAGNOSTICS words = MESSAGE_TEXT;
        END;
        EXIT WHEN left_over IS NULL OR words IS NOT NULL;
        COMMIT;
    END LOOP;
    IF words IS NOT NULL THEN
        PERFORM gavial.give_up(waiting);
        COMMIT;
        PERFORM gavial.end_cancelled(waiting, words);
    END IF;
END
$body$;
COMMENT ON PROCEDURE gavial.wait(jsonb) IS 'waits for runs, or for the first answer of a query';

CREATE OR REPLACE PROCEDURE gavial.refresh(requests jsonb, tag text)
    LANGUAGE plpgsql
AS $body$
DECLARE
    alone pg_catalog.bool;
    request pg_catalog.jsonb;
    run pg_catalog.uuid;
    runs pg_catalog.uuid[];
BEGIN
    CALL gavial.look_around(alone);
    PERFORM gavial.require_alone(alone, tag);
    FOR request IN SELECT pg_catalog.jsonb_array_elements(requests) LOOP
        run := pg_catalog.gen_random_uuid();
        EXECUTE gavial.refresh_command(
            pg_catalog.to_regclass(pg_catalog.jsonb_extract_path_text(request, 'as_written')), request, run);
        runs := pg_catalog.array_append(runs, run);
    END LOOP;
    COMMIT;
    CALL gavial.wait(pg_catalog.jsonb_build_object('runs', pg_catalog.to_jsonb(runs)));
    PERFORM gavial.tag(tag);
END
$body$;
COMMENT ON PROCEDURE gavial.refresh(jsonb, text) IS 'REFRESH STANDING QUERY';

CREATE OR REPLACE FUNCTION gavial.first_answer(target regclass) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_build_object('query', s.id) FROM gavial.standing_queries s WHERE s.table_oid = target
$body$;
COMMENT ON FUNCTION gavial.first_answer(regclass) IS 'what CREATE waits for';

CREATE OR REPLACE FUNCTION gavial.say_answer_follows(waiting jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF EXISTS (SELECT FROM gavial.standing_queries s WHERE s.id = (waiting ->> 'query')::uuid AND s.status = 'initialising') THEN
        RAISE NOTICE USING MESSAGE = 'the answer of the standing query follows after COMMIT';
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.say_answer_follows(jsonb) IS 'what CREATE says where it cannot wait';

CREATE OR REPLACE FUNCTION gavial.may_wait(requests jsonb, alone boolean) RETURNS boolean
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT alone AND (requests #>> '{0,alone}')::boolean AND NOT current_setting('transaction_read_only')::boolean
$body$;
COMMENT ON FUNCTION gavial.may_wait(jsonb, boolean) IS 'whether CREATE may commit and wait, for what the server and the proxy know of the transaction';

CREATE OR REPLACE PROCEDURE gavial.perform_and_wait(requests jsonb, tag text)
    LANGUAGE plpgsql
AS $body$
DECLARE
    alone pg_catalog.bool;
    waiting pg_catalog.jsonb;
BEGIN
    CALL gavial.look_around(alone);
    alone := gavial.may_wait(requests, alone);
    CALL gavial.perform(requests, tag);
    waiting := gavial.first_answer(pg_catalog.to_regclass(pg_catalog.jsonb_extract_path_text(requests, '0', 'as_written')));
    IF alone THEN
        COMMIT;
        CALL gavial.wait(waiting);
    ELSE
        PERFORM gavial.say_answer_follows(waiting);
    END IF;
END
$body$;
COMMENT ON PROCEDURE gavial.perform_and_wait(jsonb, text) IS 'CREATE STANDING QUERY WITH DATA';
