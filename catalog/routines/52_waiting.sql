-- Statements that wait for the coordinator: on the client's own backend, a transaction for each poll, so that any
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

CREATE OR REPLACE PROCEDURE gavial.detect_transaction_block(INOUT alone boolean)
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
COMMENT ON PROCEDURE gavial.detect_transaction_block(boolean) IS 'whether the statement under way is a transaction of its own';

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
COMMENT ON FUNCTION gavial.refresh_command(regclass, jsonb, uuid) IS 'the command that asks for a new result';

CREATE OR REPLACE FUNCTION gavial.ask(kind text, result oid, run uuid, process int) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    -- A verification may say what is compared with: verify_spark, verify_postgres.
    INSERT INTO gavial.runs (id, query_id, kind, compared_with, target, process)
    SELECT run, q.id, split_part(ask.kind, '_', 1), nullif(split_part(ask.kind, '_', 2), ''), pg_current_wal_insert_lsn(), ask.process
    FROM gavial.queries q WHERE q.result = ask.result;
    -- Something to capture that lies behind the target, and on disk as soon as it is committed.
    PERFORM pg_logical_emit_message(true, 'gavial', '');
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
    NOTIFY gavial;
END
$body$;
COMMENT ON FUNCTION gavial.ask(text, oid, uuid, int) IS
    'enters what the client of a process waits for: a result, or its verification, with all that was committed before';
REVOKE ALL ON FUNCTION gavial.ask(text, oid, uuid, int) FROM PUBLIC;

CREATE OR REPLACE FUNCTION gavial.with_failure(waiting jsonb, run text, state jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF jsonb_array_length(waiting -> 'runs') > 1 THEN
        RAISE WARNING USING ERRCODE = state ->> 'sqlstate',
            MESSAGE = format('standing query %s is not refreshed: %s', waiting #>> ARRAY['names', run], state ->> 'message'),
            DETAIL = coalesce(state ->> 'detail', ''), HINT = coalesce(state ->> 'hint', '');
    END IF;
    RETURN waiting || jsonb_build_object('failed', coalesce(waiting -> 'failed', '{}') || jsonb_build_object(run, state));
END
$body$;
COMMENT ON FUNCTION gavial.with_failure(jsonb, text, jsonb) IS
    'notes that one of the runs a client waits for has failed; where there are several, the client is told at once';

CREATE OR REPLACE FUNCTION gavial.end_of_runs(waiting jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
AS $body$
    -- Of several runs, those that succeeded have published their results.
    SELECT CASE WHEN jsonb_array_length(waiting -> 'runs') = 1 THEN min(f.state::text)::jsonb ELSE gavial.wait_message(
        format('%s of %s standing queries are not refreshed: %s', count(*), jsonb_array_length(waiting -> 'runs'),
               string_agg(waiting #>> ARRAY['names', r.run], ', ' ORDER BY r.place)),
        string_agg(format('%s: %s', waiting #>> ARRAY['names', r.run], gavial.sentence(f.state ->> 'message')), E'\n' ORDER BY r.place),
        (array_agg(f.state ->> 'hint' ORDER BY r.place) FILTER (WHERE f.state ? 'hint'))[1],
        (array_agg(f.state ->> 'sqlstate' ORDER BY r.place))[1]) END
    FROM jsonb_array_elements_text(waiting -> 'runs') WITH ORDINALITY AS r (run, place)
    CROSS JOIN LATERAL (SELECT waiting -> 'failed' -> r.run AS state) f
    WHERE f.state IS NOT NULL
    HAVING count(*) > 0
$body$;
COMMENT ON FUNCTION gavial.end_of_runs(jsonb) IS 'how a statement ends all of whose runs have ended; null where none has failed';

CREATE OR REPLACE FUNCTION gavial.run_progress(waiting jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    coming jsonb;
    awaited text;
    run gavial.awaited;
    state jsonb;
BEGIN
    FOR awaited IN SELECT jsonb_array_elements_text(waiting -> 'runs') LOOP
        CONTINUE WHEN coalesce(waiting -> 'failed' ? awaited, false);
        SELECT * INTO run FROM gavial.awaited r WHERE r.id = awaited::uuid;
        IF run.id IS NULL THEN
            -- Its runs go with a query.
            waiting := gavial.with_failure(waiting, awaited, gavial.wait_message('the standing query was dropped', NULL, NULL, '42704'));
        ELSIF run.state = 'failed' THEN
            waiting := gavial.with_failure(waiting, awaited, gavial.wait_message(run.message, run.detail, run.hint, run.sqlstate));
        ELSIF run.state <> 'done' AND coming IS NULL THEN
            coming := jsonb_build_object('run', run.id, 'of', run.query_id);
        END IF;
    END LOOP;
    IF coming IS NOT NULL THEN
        RETURN waiting || coming;
    END IF;
    state := gavial.end_of_runs(waiting);
    RETURN CASE WHEN state IS NOT NULL THEN waiting || jsonb_build_object('end', state) END;
END
$body$;
COMMENT ON FUNCTION gavial.run_progress(jsonb) IS
    'which run a client waits for; null when all have succeeded, with the key "end" when all have ended and some have failed';

CREATE OR REPLACE FUNCTION gavial.result_progress(waiting jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    standing gavial.standing_queries;
BEGIN
    SELECT * INTO standing FROM gavial.standing_queries q WHERE q.id = (waiting ->> 'query')::uuid;
    RETURN CASE
        WHEN standing.id IS NULL THEN waiting || jsonb_build_object('end', gavial.wait_message('the standing query was dropped', NULL, NULL, '42704'))
        -- A table that cannot be captured is tried again: whether that ends the wait is not decided here.
        WHEN standing.status = 'initialising' OR standing.status = 'error' AND EXISTS (
            SELECT FROM gavial.reads_of(standing.id) r (relation) JOIN gavial.sources s USING (relation) WHERE s.state = 'stopped')
            THEN waiting || jsonb_build_object('of', standing.id)
        WHEN standing.status <> 'active' THEN waiting || jsonb_build_object('end', gavial.wait_message(
            coalesce(standing.status_detail, 'it is ' || standing.status), NULL, NULL, coalesce(standing.status_sqlstate, '55000')))
    END;
END
$body$;
COMMENT ON FUNCTION gavial.result_progress(jsonb) IS 'the query whose first result a client waits for; null when it is there, with the key "end" when it has failed';

CREATE OR REPLACE FUNCTION gavial.phase(state jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
AS $body$
    SELECT regexp_replace(state ->> 'message', '( \(now at .*\)|; \d+ others? .*)$', '')
$body$;
COMMENT ON FUNCTION gavial.phase(jsonb) IS 'what a statement that waits is told, but for how far that has come: each is told once';

CREATE OR REPLACE FUNCTION gavial.poll(waiting jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    seconds CONSTANT float8 := extract(epoch FROM clock_timestamp());
    state jsonb;
BEGIN
    -- A client hears nothing of a wait that is over within a second, but always of a query that it makes.
    waiting := jsonb_build_object('since', seconds, 'present', seconds, 'polled', seconds, 'blocked', 0, 'pause', 0.005,
        'noticed', jsonb_build_array(),
        'next', seconds + CASE WHEN waiting ? 'query' THEN 0 ELSE 0.25 END,
        'notices_from', seconds + CASE WHEN waiting ? 'query' THEN 0 ELSE 1 END) || waiting;
    waiting := CASE WHEN waiting ? 'query' THEN gavial.result_progress(waiting) ELSE gavial.run_progress(waiting) END;
    IF waiting IS NULL OR waiting ? 'end' THEN
        RETURN waiting;
    END IF;
    IF seconds >= (waiting ->> 'next')::float8 THEN
        -- What is seen of sessions is otherwise what was seen first in a transaction.
        PERFORM pg_stat_clear_snapshot();
        IF coalesce(current_setting('gavial.nonce', true), '') <> '' THEN
            -- PostgreSQL notices that a client is gone by writing to it.
            PERFORM gavial.tell_proxy('waiting');
        END IF;
        state := gavial.state_of_wait((waiting ->> 'of')::uuid, (waiting ->> 'run')::uuid, waiting);
        IF state ? 'sqlstate' AND jsonb_array_length(waiting -> 'runs') > 1 THEN
            PERFORM gavial.give_up(jsonb_build_object('runs', jsonb_build_array(waiting -> 'run')));
            RETURN gavial.with_failure(waiting, waiting ->> 'run', state);
        ELSIF state ? 'sqlstate' THEN
            RETURN waiting || jsonb_build_object('end', state);
        ELSIF seconds >= (waiting ->> 'notices_from')::float8 AND NOT waiting -> 'noticed' ? gavial.phase(state) THEN
            waiting := jsonb_set(waiting, '{noticed}', (waiting -> 'noticed') || to_jsonb(gavial.phase(state)));
            RAISE NOTICE USING MESSAGE = state ->> 'message', DETAIL = coalesce(state ->> 'detail', ''), HINT = coalesce(state ->> 'hint', '');
        END IF;
        waiting := waiting || jsonb_build_object('polled', seconds, 'next', seconds + 0.25)
            || CASE WHEN state ? 'blocked' THEN jsonb_build_object('blocked', (waiting ->> 'blocked')::float8 + seconds - (waiting ->> 'polled')::float8) ELSE '{}' END
            || CASE WHEN EXISTS (SELECT FROM gavial.coordinator()) THEN jsonb_build_object('present', seconds) ELSE '{}' END;
    END IF;
    RETURN waiting || jsonb_build_object('pause', least((waiting ->> 'pause')::float8 * 1.1, 0.05));
END
$body$;
COMMENT ON FUNCTION gavial.poll(jsonb) IS
    'what is left to wait for, after telling the client how far it has come; null when the wait is over, with the key "end" when it has failed';

CREATE OR REPLACE FUNCTION gavial.end_wait(waiting jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    state CONSTANT jsonb := waiting -> 'end';
    name text;
BEGIN
    IF NOT waiting ? 'query' THEN
        PERFORM gavial.refuse(state ->> 'sqlstate', state ->> 'message', state ->> 'detail', state ->> 'hint');
        RETURN;
    END IF;
    SELECT concat_ws('.', quote_ident(s.schema_name), quote_ident(s.name)) INTO name
    FROM gavial.standing_queries s WHERE s.id = (waiting ->> 'query')::uuid;
    IF name IS NULL THEN
        RAISE WARNING USING ERRCODE = state ->> 'sqlstate', MESSAGE = state ->> 'message';
    ELSE
        RAISE WARNING USING ERRCODE = state ->> 'sqlstate',
            MESSAGE = format('standing query %s is kept, and its result is not computed yet', name),
            DETAIL = concat_ws(' ', gavial.sentence(state ->> 'message'), state ->> 'detail', gavial.rows_until_then((waiting ->> 'query')::uuid)),
            HINT = concat_ws(' ', state ->> 'hint', gavial.how_to_see(name), format('DROP STANDING QUERY %s removes the query.', name));
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.end_wait(jsonb) IS 'ends a statement that waited in vain: with an error, or with a warning where a query was made, which stays';

CREATE OR REPLACE FUNCTION gavial.sleep_between_polls(waiting jsonb) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT pg_sleep((waiting ->> 'pause')::float8) WHERE NOT waiting ? 'end'
$body$;
COMMENT ON FUNCTION gavial.sleep_between_polls(jsonb) IS 'sleeps until it is time to poll again';

CREATE OR REPLACE FUNCTION gavial.give_up(waiting jsonb) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    DELETE FROM gavial.runs WHERE id IN (SELECT jsonb_array_elements_text(waiting -> 'runs')::uuid)
$body$;
COMMENT ON FUNCTION gavial.give_up(jsonb) IS 'removes the runs that a client no longer waits for';

CREATE OR REPLACE PROCEDURE gavial.wait(waiting jsonb)
    LANGUAGE plpgsql
AS $body$
DECLARE
    left_over pg_catalog.jsonb := waiting;
    words pg_catalog.text;
BEGIN
    LOOP
        BEGIN
            left_over := gavial.poll(left_over);
            PERFORM gavial.sleep_between_polls(left_over);
        EXCEPTION WHEN query_canceled THEN
            GET STACKED DIAGNOSTICS words = MESSAGE_TEXT;
            left_over := pg_catalog.jsonb_set(waiting, '{end}', gavial.wait_message(words, NULL, NULL, '57014'));
        END;
        EXIT WHEN left_over IS NULL OR pg_catalog.jsonb_exists(left_over, 'end');
        COMMIT;
    END LOOP;
    IF left_over IS NOT NULL THEN
        PERFORM gavial.give_up(waiting);
        COMMIT;
        PERFORM gavial.end_wait(left_over);
    END IF;
END
$body$;
COMMENT ON PROCEDURE gavial.wait(jsonb) IS 'waits for runs, or for the first result of a query';

CREATE OR REPLACE PROCEDURE gavial.refresh(requests jsonb, tag text)
    LANGUAGE plpgsql
AS $body$
DECLARE
    alone pg_catalog.bool;
    request pg_catalog.jsonb;
    run pg_catalog.uuid;
    runs pg_catalog.uuid[];
    names pg_catalog.jsonb := '{}';
BEGIN
    CALL gavial.detect_transaction_block(alone);
    PERFORM gavial.require_alone(alone, tag);
    FOR request IN SELECT pg_catalog.jsonb_array_elements(requests) LOOP
        run := pg_catalog.gen_random_uuid();
        EXECUTE gavial.refresh_command(
            pg_catalog.to_regclass(pg_catalog.jsonb_extract_path_text(request, 'as_written')), request, run);
        runs := pg_catalog.array_append(runs, run);
        names := pg_catalog.jsonb_set(names, ARRAY[run::pg_catalog.text], pg_catalog.to_jsonb(
            pg_catalog.to_regclass(pg_catalog.jsonb_extract_path_text(request, 'as_written'))::pg_catalog.text));
    END LOOP;
    COMMIT;
    CALL gavial.wait(pg_catalog.jsonb_build_object('runs', pg_catalog.to_jsonb(runs), 'names', names));
    PERFORM gavial.tag(tag);
END
$body$;
COMMENT ON PROCEDURE gavial.refresh(jsonb, text) IS 'REFRESH STANDING QUERY';

CREATE OR REPLACE FUNCTION gavial.first_result(target regclass) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_build_object('query', s.id, 'since', extract(epoch FROM now())) FROM gavial.standing_queries s WHERE s.table_oid = target
$body$;
COMMENT ON FUNCTION gavial.first_result(regclass) IS 'what CREATE waits for';

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
    CALL gavial.detect_transaction_block(alone);
    alone := gavial.may_wait(requests, alone);
    requests := pg_catalog.jsonb_set(requests, '{0,waits}', pg_catalog.to_jsonb(alone));
    CALL gavial.perform(requests, tag);
    waiting := gavial.first_result(pg_catalog.to_regclass(pg_catalog.jsonb_extract_path_text(requests, '0', 'as_written')));
    IF alone THEN
        -- Only who waits: a transaction with it could not be prepared.
        NOTIFY gavial;
        COMMIT;
        CALL gavial.wait(waiting);
    END IF;
END
$body$;
COMMENT ON PROCEDURE gavial.perform_and_wait(jsonb, text) IS 'CREATE STANDING QUERY WITH DATA';
