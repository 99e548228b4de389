-- VERIFY STANDING QUERY and EXPLAIN ANALYZE: queries with rows, so they can end no transaction; the proxy enters
-- their runs, and removes them.
CREATE OR REPLACE VIEW gavial.verifications WITH (security_barrier) AS
    SELECT r.id AS run_id, r.position, d.side, d.row_text, d.rows, r.compared_with, r.detail
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
COMMENT ON COLUMN gavial.verifications.compared_with IS 'what VERIFY compares the result with: postgres or spark; null until that is chosen';
COMMENT ON COLUMN gavial.verifications.detail IS 'why, where the statement did not say it';
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
    words text;
    why text;
BEGIN
    PERFORM gavial.known(target, request), gavial.may_change(target);
    run := gavial.run(concat_ws('_', 'verify', request ->> 'using'), 'VERIFY STANDING QUERY', target);
    SELECT format('verified at %s: compared with what %s', v.position,
               CASE v.compared_with WHEN 'spark' THEN 'Gavial computes from scratch' ELSE 'PostgreSQL computes' END), coalesce(v.detail, '')
    INTO STRICT words, why FROM gavial.verifications v WHERE v.run_id = run LIMIT 1;
    RAISE NOTICE USING MESSAGE = words, DETAIL = why;
    RETURN QUERY SELECT v.side, v.row_text, v.rows FROM gavial.verifications v
    WHERE v.run_id = run AND v.side IS NOT NULL ORDER BY v.side, v.row_text;
END
$body$;
COMMENT ON FUNCTION gavial.verify(regclass, jsonb) IS 'the rows of VERIFY STANDING QUERY';

CREATE OR REPLACE FUNCTION gavial.place_in_list(value anyelement) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET "DateStyle" = 'ISO, MDY'
    SET "IntervalStyle" = 'postgres'
    SET "TimeZone" = 'UTC'
    SET bytea_output = 'hex'
    SET extra_float_digits = 1
    SET standard_conforming_strings = on
AS $body$
DECLARE
    -- The base type of a domain, which may itself be over a domain.
    base CONSTANT regtype := (
        WITH RECURSIVE types (type) AS (
            SELECT pg_typeof(value)::oid UNION ALL SELECT t.typbasetype FROM types d JOIN pg_type t ON t.oid = d.type WHERE t.typtype = 'd')
        SELECT d.type FROM types d JOIN pg_type t ON t.oid = d.type WHERE t.typtype <> 'd');
    words CONSTANT text := value::text;
    -- What PostgreSQL compares by, of which one is not NULL, and what tells apart values that are equal.
    of_float float8;
    of_number numeric;
    of_text text;
    months numeric;
    days numeric;
    form text := '';
BEGIN
    IF value IS NULL THEN
        RETURN NULL;
    ELSIF base IN ('real'::regtype, 'double precision'::regtype) THEN
        of_float := words::float8;
        form := (words = '-0')::int::text;
    ELSIF base IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype) THEN
        of_number := words::numeric;
        form := words;
    ELSIF base = 'boolean'::regtype THEN
        of_number := words::boolean::int;
    ELSIF base = 'date'::regtype THEN
        of_number := extract(epoch FROM words::date);
    ELSIF base IN ('timestamp'::regtype, 'timestamptz'::regtype) THEN
        of_number := extract(epoch FROM words::timestamptz);
    ELSIF base = 'interval'::regtype AND words IN ('infinity', '-infinity') THEN
        of_number := words::numeric;
    ELSIF base = 'interval'::regtype THEN
        months := extract(year FROM words::interval) * 12 + extract(month FROM words::interval);
        days := extract(day FROM words::interval);
        of_number := (months * 30 + days) * 86400 + extract(hour FROM words::interval) * 3600
            + extract(minute FROM words::interval) * 60 + extract(second FROM words::interval);
    ELSIF base = 'jsonb'::regtype THEN
        of_text := regexp_replace(words, '("[^"\\]*(?:\\.[^"\\]*)*")|(-?[0-9]+)(?:\.0+(?![0-9])|(\.[0-9]*[1-9])0+(?![0-9]))', '\1\2\3', 'g');
        form := words;
    ELSIF base = 'bpchar'::regtype THEN
        of_text := words;
        form := format('%s', value);
    ELSE
        of_text := words;
    END IF;
    -- Texts as bytes, so that no collation says how.
    RETURN ROW(of_float, of_number, convert_to(of_text, 'UTF8'), months, days, convert_to(form, 'UTF8'));
END
$body$;
COMMENT ON FUNCTION gavial.place_in_list(anyelement) IS
    'what array_agg and string_agg in a result are sorted by where their query leaves the order open';
