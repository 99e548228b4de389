-- VERIFY STANDING QUERY and EXPLAIN ANALYZE: queries with rows, so they can end no transaction; the proxy enters
-- their runs, and removes them.
CREATE OR REPLACE VIEW gavial.verifications WITH (security_barrier) AS
    SELECT r.id AS run_id, r.position, d.side, d.row_text, d.rows
    FROM gavial.runs r
    JOIN gavial.queries q ON q.id = r.query_id
    JOIN pg_class c ON c.oid = q.result
    LEFT JOIN gavial.differences d ON d.run_id = r.id
    WHERE pg_has_role(c.relowner, 'USAGE');
COMMENT ON VIEW gavial.verifications IS 'what statements under way wait for, and what VERIFY has found, for those who may act as the owner';
COMMENT ON COLUMN gavial.verifications.run_id IS 'the run';
COMMENT ON COLUMN gavial.verifications.position IS 'position in the WAL that was verified, or of the result';
COMMENT ON COLUMN gavial.verifications.side IS 'missing or superfluous; null where nothing differs';
COMMENT ON COLUMN gavial.verifications.row_text IS 'the row as text';
COMMENT ON COLUMN gavial.verifications.rows IS 'how many times more';
GRANT SELECT ON gavial.verifications TO PUBLIC;

CREATE OR REPLACE FUNCTION gavial.await_run(kind text, statement text, target regclass, run uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    patience CONSTANT interval := '20 seconds';
    asked CONSTANT timestamptz := clock_timestamp();
    last_notice timestamptz := asked;
BEGIN
    IF coalesce(current_setting('gavial.nonce', true), '') = '' THEN
        PERFORM gavial.refuse('57P03', format('%s runs through Gavial only', statement));
    ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM gavial.refuse('0A000', format('%s needs the isolation level READ COMMITTED', statement), NULL,
            'SET default_transaction_isolation TO ''read committed''.');
    END IF;
    PERFORM gavial.tell_proxy(format('%s %s %s %s', kind, target::oid, run, pg_backend_pid()));
    WHILE NOT EXISTS (SELECT FROM gavial.verifications v WHERE v.run_id = run) LOOP
        IF clock_timestamp() > asked + patience THEN
            PERFORM gavial.refuse('57P03', format('%s could not begin', statement),
                'The proxy could not enter it: its log says why.', 'Try again.');
        ELSIF clock_timestamp() > last_notice + interval '1 second' THEN
            IF last_notice = asked THEN
                RAISE NOTICE USING MESSAGE = format('waiting for the proxy to enter %s', statement),
                    DETAIL = 'For that it needs a connection of its own to the server.';
            END IF;
            PERFORM gavial.tell_proxy('waiting');
            last_notice := clock_timestamp();
        END IF;
        PERFORM pg_sleep(0.005);
    END LOOP;
END
$body$;
COMMENT ON FUNCTION gavial.await_run(text, text, regclass, uuid) IS 'has the proxy enter a run of VERIFY, or of EXPLAIN ANALYZE';

CREATE OR REPLACE FUNCTION gavial.run(kind text, statement text, target regclass) RETURNS uuid
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    run CONSTANT uuid := gen_random_uuid();
    waiting jsonb := jsonb_build_object('runs', jsonb_build_array(run));
BEGIN
    PERFORM gavial.await_run(kind, statement, target, run);
    LOOP
        waiting := gavial.poll(waiting);
        EXIT WHEN waiting IS NULL;
        IF waiting ? 'end' THEN
            PERFORM gavial.end_wait(waiting);
        END IF;
        PERFORM gavial.sleep_between_polls(waiting);
    END LOOP;
    RETURN run;
END
$body$;
COMMENT ON FUNCTION gavial.run(text, text, regclass) IS 'does what a statement that answers with rows waits for';

CREATE OR REPLACE FUNCTION gavial.verify(target regclass, request jsonb) RETURNS TABLE (side text, row_text text, count bigint)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    run uuid;
BEGIN
    PERFORM gavial.known(target, request), gavial.may_change(target);
    run := gavial.run('verify', 'VERIFY STANDING QUERY', target);
    RAISE NOTICE USING MESSAGE = (SELECT format('verified at %s', min(v.position)) FROM gavial.verifications v WHERE v.run_id = run);
    RETURN QUERY SELECT v.side, v.row_text, v.rows FROM gavial.verifications v
    WHERE v.run_id = run AND v.side IS NOT NULL ORDER BY v.side, v.row_text;
END
$body$;
COMMENT ON FUNCTION gavial.verify(regclass, jsonb) IS 'the rows of VERIFY STANDING QUERY';
