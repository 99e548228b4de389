-- VERIFY STANDING QUERY: a query with rows, so it can end no transaction; the proxy enters its run, and removes it.
CREATE OR REPLACE VIEW gavial.verifications WITH (security_barrier) AS
    SELECT r.id AS run_id, r.position, d.side, d.row_text, d.rows
    FROM gavial.runs r
    JOIN gavial.queries q ON q.id = r.query_id
    JOIN pg_class c ON c.oid = q.result
    LEFT JOIN gavial.differences d ON d.run_id = r.id
    WHERE r.kind = 'verify' AND pg_has_role(c.relowner, 'USAGE');
COMMENT ON VIEW gavial.verifications IS 'what VERIFY statements under way have found, for those who may act as the owner';
COMMENT ON COLUMN gavial.verifications.run_id IS 'the run of VERIFY';
COMMENT ON COLUMN gavial.verifications.position IS 'position in the WAL that was verified';
COMMENT ON COLUMN gavial.verifications.side IS 'missing or superfluous; null where nothing differs';
COMMENT ON COLUMN gavial.verifications.row_text IS 'the row as text';
COMMENT ON COLUMN gavial.verifications.rows IS 'how many times more';
GRANT SELECT ON gavial.verifications TO PUBLIC;

CREATE OR REPLACE FUNCTION gavial.await_run(target regclass, run uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    patience CONSTANT interval := '20 seconds';
    asked timestamptz := clock_timestamp();
BEGIN
    IF coalesce(current_setting('gavial.nonce', true), '') = '' THEN
        PERFORM gavial.refuse('57P03', 'VERIFY STANDING QUERY runs through Gavial only');
    ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM gavial.refuse('0A000', 'VERIFY STANDING QUERY needs the isolation level READ COMMITTED', NULL,
            'SET default_transaction_isolation TO ''read committed''.');
    END IF;
    PERFORM gavial.tell_proxy(format('verify %s %s', target::oid, run));
    WHILE NOT EXISTS (SELECT FROM gavial.verifications v WHERE v.run_id = run) LOOP
        IF clock_timestamp() > asked + patience THEN
            PERFORM gavial.refuse('57P03', 'the verification could not begin', 'The proxy gave no answer in time.', 'Try again.');
        END IF;
        PERFORM pg_sleep(0.005);
    END LOOP;
END
$body$;
COMMENT ON FUNCTION gavial.await_run(regclass, uuid) IS 'has the proxy enter a run of VERIFY';

CREATE OR REPLACE FUNCTION gavial.verify(target regclass, request jsonb) RETURNS TABLE (side text, row_text text, count bigint)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    run CONSTANT uuid := gen_random_uuid();
    waiting jsonb := jsonb_build_object('runs', jsonb_build_array(run));
BEGIN
    PERFORM gavial.known(target, request), gavial.may_change(target);
    PERFORM gavial.await_run(target, run);
    LOOP
        waiting := gavial.looked(waiting);
        EXIT WHEN waiting IS NULL;
        PERFORM gavial.rest(waiting);
    END LOOP;
    RAISE NOTICE USING MESSAGE = (SELECT format('verified at %s', min(v.position)) FROM gavial.verifications v WHERE v.run_id = run);
    RETURN QUERY SELECT v.side, v.row_text, v.rows FROM gavial.verifications v
    WHERE v.run_id = run AND v.side IS NOT NULL ORDER BY v.side, v.row_text;
END
$body$;
COMMENT ON FUNCTION gavial.verify(regclass, jsonb) IS 'answer of VERIFY STANDING QUERY';
