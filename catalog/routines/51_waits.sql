-- What a statement that waits can see of what it waits for. Everything it is told, and every end but the one it waits
-- for, is decided in `gavial.state_of_wait`.
CREATE OR REPLACE FUNCTION gavial.coordinator_lock() RETURNS bigint
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT x'67617669616D'::bigint
$body$;
COMMENT ON FUNCTION gavial.coordinator_lock() IS 'the advisory lock of the one session that works on a database';

CREATE OR REPLACE FUNCTION gavial.coordinator() RETURNS TABLE (process int, seen timestamptz)
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- The lock that whoever works on a database holds; to try and take it could get in its way. All its sessions look
    -- at the database again and again, so that one in which nothing begins any more is one of a process that is stopped.
    -- Where the owner of this function may not see that, null: then it is taken to be at work.
    SELECT l.pid, (
        SELECT max(CASE WHEN s.state = 'active' AND s.wait_event_type IS DISTINCT FROM 'Client' AND s.backend_type = 'client backend'
                        THEN clock_timestamp() ELSE s.state_change END)
        FROM pg_stat_activity s
        WHERE s.datname = current_database() AND s.usesysid = a.usesysid AND s.application_name LIKE 'gavial %')
    FROM pg_locks l JOIN pg_database d ON d.oid = l.database LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted
      AND l.objsubid = 1 AND l.classid::int8 << 32 | l.objid::int8 = gavial.coordinator_lock()
$body$;
COMMENT ON FUNCTION gavial.coordinator() IS 'the session of the coordinator that works on this database, and when its process was last seen';

CREATE OR REPLACE FUNCTION gavial.describe_process(process int) RETURNS text
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE p.process WHEN 0 THEN 'a prepared transaction' ELSE
        format('process %s of %s', p.process, coalesce(a.usename, 'the server'))
            || coalesce(format(' (%s)', nullif(a.application_name, '')), '')
            || coalesce(format(', in a transaction since %s', date_trunc('second', a.xact_start)), '') END
    FROM (VALUES ($1)) AS p (process) LEFT JOIN pg_stat_activity a ON a.pid = p.process WHERE p.process IS NOT NULL
$body$;
COMMENT ON FUNCTION gavial.describe_process(int) IS 'a process of the server that others wait for, in words';

CREATE OR REPLACE FUNCTION gavial.how_to_unblock(process int) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE process WHEN 0 THEN 'COMMIT PREPARED or ROLLBACK PREPARED ends the wait.'
           ELSE format('COMMIT or ROLLBACK there ends the wait, or SELECT pg_terminate_backend(%s).', process) END
$body$;
COMMENT ON FUNCTION gavial.how_to_unblock(int) IS 'what to do about a process that others wait for';

CREATE OR REPLACE FUNCTION gavial.blocker(applications text[]) RETURNS int
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT b.process
    FROM gavial.coordinator() c
    JOIN pg_stat_activity a ON a.pid = c.process
    JOIN pg_stat_activity s ON s.usesysid = a.usesysid AND s.datname = current_database()
    JOIN pg_locks l ON l.pid = s.pid AND NOT l.granted
    CROSS JOIN LATERAL unnest(pg_blocking_pids(s.pid)) AS b (process)
    WHERE s.application_name = ANY (applications)
      AND NOT EXISTS (SELECT FROM pg_stat_activity o
                      WHERE o.pid = b.process AND o.usesysid = a.usesysid AND o.application_name LIKE 'gavial %')
    ORDER BY l.waitstart, b.process LIMIT 1
$body$;
COMMENT ON FUNCTION gavial.blocker(text[]) IS 'the process whose lock one of these sessions of the coordinator waits for; 0: a prepared transaction';

CREATE OR REPLACE FUNCTION gavial.is_retried(query uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- A query that is not computed yet has nothing else to tell.
    SELECT EXISTS (SELECT FROM gavial.queries q WHERE q.id = query AND q.status = 'initialising' AND q.status_detail IS NOT NULL)
$body$;
COMMENT ON FUNCTION gavial.is_retried(uuid) IS 'whether the first result of a query has failed by what may pass, and is tried again';

CREATE OR REPLACE FUNCTION gavial.holder_of_result(query uuid, run uuid) RETURNS int
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- The coordinator waits for no lock on a result: it is told that there is none, and tries again.
    SELECT gavial.lock_holder(q.result, CASE WHEN q.columns_due THEN 'ACCESS EXCLUSIVE' ELSE 'ROW EXCLUSIVE' END)
    FROM gavial.queries q
    WHERE q.id = query AND (gavial.is_retried(query) OR EXISTS (SELECT FROM gavial.runs r WHERE r.id = run AND r.retrying))
$body$;
COMMENT ON FUNCTION gavial.holder_of_result(uuid, uuid) IS
    'the process that keeps the coordinator from publishing a result that it has tried to publish; 0: a prepared transaction';

CREATE OR REPLACE FUNCTION gavial.progress_of_firing(query uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT e.progress FROM gavial.executions e
    WHERE progress_of_firing.query = ANY (e.query_ids) AND e.finished IS NULL AND e.progress IS NOT NULL ORDER BY e.id DESC LIMIT 1
$body$;
COMMENT ON FUNCTION gavial.progress_of_firing(uuid) IS 'how far the run that computes a query has come, if it takes long';

CREATE OR REPLACE VIEW gavial.awaited WITH (security_barrier) AS
    SELECT r.id, r.asked, r.state, coalesce(r.progress, gavial.progress_of_firing(r.query_id)) AS progress, r.sqlstate, r.message, r.detail, r.hint,
           r.query_id, r.target
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
COMMENT ON COLUMN gavial.awaited.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.awaited.target IS 'what was committed before this position has to be in the result';
GRANT SELECT ON gavial.awaited TO PUBLIC;

CREATE OR REPLACE FUNCTION gavial.reads_of(query uuid) RETURNS SETOF regclass
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT r.relation FROM gavial.reads r WHERE r.query_id = query
$body$;
COMMENT ON FUNCTION gavial.reads_of(uuid) IS 'the tables that a standing query reads';

CREATE OR REPLACE FUNCTION gavial.others_waiting(run uuid) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- The next one is chosen each time, by what each is expected to take.
    SELECT count(DISTINCT coalesce(o.asked_in::text, o.id::text))
    FROM gavial.runs o
    WHERE o.state IN ('waiting', 'running') AND (o.process IS NULL OR EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = o.process))
      AND NOT EXISTS (SELECT FROM gavial.runs r WHERE r.id = run AND (r.id = o.id OR r.asked_in = o.asked_in))
$body$;
COMMENT ON FUNCTION gavial.others_waiting(uuid) IS 'how many statements REFRESH and VERIFY wait besides that of a run';

CREATE OR REPLACE FUNCTION gavial.verified_meanwhile(run uuid) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT o.query_id FROM gavial.runs o
    WHERE o.kind = 'verify' AND o.state = 'running' AND o.id IS DISTINCT FROM run
      AND EXISTS (SELECT FROM gavial.runs r WHERE r.id = run AND r.kind = 'verify')
    ORDER BY o.asked LIMIT 1
$body$;
COMMENT ON FUNCTION gavial.verified_meanwhile(uuid) IS 'the query whose result is compared while another run of VERIFY waits for that';

CREATE OR REPLACE FUNCTION gavial.turn_of(query uuid, run uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT w.words || CASE gavial.others_waiting(run) WHEN 0 THEN '' WHEN 1 THEN '; 1 other REFRESH or VERIFY waits too'
           ELSE format('; %s others of REFRESH and VERIFY wait too', gavial.others_waiting(run)) END
    FROM (SELECT coalesce(
        (SELECT format('waiting while another standing query is computed: %s', concat_ws('.', quote_ident(s.schema_name), quote_ident(s.name)))
         FROM gavial.executions e JOIN gavial.standing_queries s ON s.id = ANY (e.query_ids)
         WHERE e.finished IS NULL AND e.progress IS NOT NULL AND s.id <> turn_of.query ORDER BY e.id DESC LIMIT 1),
        (SELECT format('waiting while standing query %s is verified', concat_ws('.', quote_ident(s.schema_name), quote_ident(s.name)))
         FROM gavial.standing_queries s WHERE s.id = gavial.verified_meanwhile(run)))) w (words)
    WHERE w.words IS NOT NULL
$body$;
COMMENT ON FUNCTION gavial.turn_of(uuid, uuid) IS 'which query is computed or verified while a statement waits, and how many others wait';

CREATE OR REPLACE FUNCTION gavial.progress_of(query uuid, run uuid = NULL) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(
        (SELECT CASE s.state
            WHEN 'copying' THEN format('copying %s', s.relation) || CASE WHEN c.reltuples > 0 THEN format(': about %s rows', c.reltuples::bigint) ELSE '' END
            ELSE concat_ws(': ', format('%s waits to be copied', s.relation), s.detail) END
         FROM gavial.reads_of(query) r (relation) JOIN gavial.sources s USING (relation) JOIN pg_class c ON c.oid = s.relation
         WHERE s.state <> 'captured' ORDER BY s.state, s.relation::text LIMIT 1),
        (SELECT a.progress FROM gavial.awaited a WHERE a.id = run),
        gavial.progress_of_firing(query),
        gavial.turn_of(query, run),
        (SELECT q.status_detail FROM gavial.standing_queries q WHERE q.id = query AND gavial.is_retried(query)),
        (SELECT format('waiting until changes that were committed before this statement are read from the WAL, up to %s (now at %s)', a.target, coalesce(c.position::text, 'the beginning'))
         FROM gavial.awaited a, gavial.capture c WHERE a.id = run AND c.position IS DISTINCT FROM greatest(c.position, a.target)),
        'computing the result')
$body$;
COMMENT ON FUNCTION gavial.progress_of(uuid, uuid) IS 'what is being done for a query, or for a statement that waits';

CREATE OR REPLACE FUNCTION gavial.wait_message(message text, detail text = NULL, hint text = NULL, sqlstate text = NULL) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_strip_nulls(jsonb_build_object('message', message, 'detail', detail, 'hint', hint, 'sqlstate', sqlstate))
$body$;
COMMENT ON FUNCTION gavial.wait_message(text, text, text, text) IS 'a notice for a statement that waits, or with an SQLSTATE the error that ends it';

CREATE OR REPLACE FUNCTION gavial.sentence(words text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT upper(left(words, 1)) || substr(words, 2) || CASE WHEN words ~ '[.!?]$' THEN '' ELSE '.' END
$body$;
COMMENT ON FUNCTION gavial.sentence(text) IS 'a message as a sentence of a DETAIL';

CREATE OR REPLACE FUNCTION gavial.next_attempt_text(moment timestamptz) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN $1 > clock_timestamp() THEN format('It is tried again by itself, at %s at the latest.', date_trunc('second', $1))
           ELSE 'It is tried again by itself.' END
$body$;
COMMENT ON FUNCTION gavial.next_attempt_text(timestamptz) IS 'when what failed is tried again, as a sentence';

CREATE OR REPLACE FUNCTION gavial.state_of_wait(query uuid, run uuid, waiting jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    polled_at CONSTANT timestamptz := clock_timestamp();
    began CONSTANT timestamptz := coalesce((SELECT a.asked FROM gavial.awaited a WHERE a.id = run), to_timestamp((waiting ->> 'since')::float8));
    present CONSTANT timestamptz := to_timestamp((waiting ->> 'present')::float8);
    -- A proxy that has no coordinator beside it waits for none to start; others start one again within ten seconds.
    patience CONSTANT interval := make_interval(secs => coalesce(nullif(current_setting('gavial.patience', true), ''), '20')::float8);
    -- For what others hold in their transactions: as long as the session would wait for a lock itself, if it says so.
    blocked_patience CONSTANT float8 := gavial.lock_patience();
    standing gavial.standing_queries;
    capture gavial.capture;
    stopped gavial.sources;
    coordinator record;
    blocker int;
    gives_up boolean;
BEGIN
    SELECT * INTO standing FROM gavial.standing_queries s WHERE s.id = query;
    SELECT * INTO capture FROM gavial.capture;
    SELECT * INTO coordinator FROM gavial.coordinator();
    SELECT s.* INTO stopped FROM gavial.reads_of(query) r (relation) JOIN gavial.sources s USING (relation)
    WHERE s.state = 'stopped' ORDER BY s.relation LIMIT 1;

    IF standing.status = 'suspended' THEN
        RETURN gavial.wait_message(format('standing query "%s" is suspended', standing.name), gavial.sentence(standing.status_detail),
            format('ALTER STANDING QUERY %I.%I RESUME', standing.schema_name, standing.name), '55000');

    ELSIF capture.state = 'paused' AND capture.attempted >= began THEN
        -- Also where copying a table has ended all work on this database.
        RETURN gavial.wait_message('changes cannot be captured', gavial.sentence(capture.detail),
            'Free space on the disk of the warehouse. Nothing is lost. ' || gavial.next_attempt_text(capture.next_attempt), '53100');

    ELSIF coordinator.process IS NULL AND capture.attempted >= began THEN
        RETURN gavial.wait_message('the coordinator cannot work on this database', gavial.sentence(capture.detail),
            gavial.next_attempt_text(capture.next_attempt) || ' Run the statement again when that is mended.', '57P03');
    ELSIF coordinator.process IS NULL AND polled_at > present + patience THEN
        RETURN gavial.wait_message('no coordinator is at work on this database',
            CASE WHEN capture.attempted IS NOT NULL THEN gavial.sentence(capture.detail) END,
            CASE WHEN patience = '0' THEN 'Start "gavial serve" without --proxy-only for this server, and try again.'
                 ELSE 'The log of "gavial serve" says why it does not work on this database.' END, '57P03');
    ELSIF coordinator.process IS NULL THEN
        RETURN gavial.wait_message('waiting for the coordinator to begin work on this database',
            CASE WHEN capture.attempted IS NOT NULL THEN concat_ws(' ', gavial.sentence(capture.detail), gavial.next_attempt_text(capture.next_attempt)) END);
    ELSIF polled_at > coordinator.seen + interval '30 seconds' THEN
        RETURN gavial.wait_message('the coordinator does not answer',
            format('It holds its lock on this database in process %s of the server, and was last seen at %s.', coordinator.process, date_trunc('second', coordinator.seen)),
            'It is the process "python -m coordinator" of "gavial serve", which computes standing queries, and may be stopped. '
                'When it is ended, "gavial serve" starts another.', '57P03');
    ELSIF polled_at > coordinator.seen + interval '5 seconds' THEN
        RETURN gavial.wait_message(format('waiting for the coordinator, which was last seen at %s', date_trunc('second', coordinator.seen)));

    ELSIF capture.state = 'failed' AND capture.attempted >= began THEN
        RETURN gavial.wait_message('changes cannot be captured', gavial.sentence(capture.detail),
            'Nothing is lost. ' || gavial.next_attempt_text(capture.next_attempt), '55000');
    ELSIF capture.state IN ('paused', 'failed') THEN
        RETURN gavial.wait_message('waiting for capture, which failed: ' || capture.detail, gavial.next_attempt_text(capture.next_attempt));
    ELSIF stopped.attempted >= began THEN
        RETURN gavial.wait_message(format('standing query "%s" is in error', standing.name),
            gavial.sentence(format('table %s cannot be captured: %s', stopped.relation, stopped.detail)),
            'It is tried again by itself, ever less often, and whenever a statement waits for it.', '55000');
    ELSIF stopped.relation IS NOT NULL THEN
        RETURN gavial.wait_message(format('waiting until table %s is tried again, which cannot be captured: %s', stopped.relation, stopped.detail));
    END IF;

    blocker := coalesce(gavial.holder_of_result(query, run), gavial.blocker(ARRAY['gavial results', 'gavial capture', format('gavial position %s', run)] || ARRAY(
        SELECT w.session FROM unnest(ARRAY['gavial coordinator', 'gavial position', 'gavial copy']) AS w (session)
        WHERE EXISTS (SELECT FROM gavial.reads_of(query) r (relation) JOIN gavial.sources s USING (relation)
                      WHERE s.state IN ('joining', 'copying')))));
    IF blocker IS NULL THEN
        RETURN gavial.wait_message(gavial.progress_of(query, run));
    END IF;
    gives_up := (waiting ->> 'blocked')::float8 > blocked_patience;
    RETURN gavial.wait_message(CASE WHEN gives_up THEN 'gave up waiting for ' ELSE 'waiting for ' END || gavial.describe_process(blocker), NULL,
        gavial.how_to_unblock(blocker), CASE WHEN gives_up THEN '55P03' END) || '{"blocked": true}';
END
$body$;
COMMENT ON FUNCTION gavial.state_of_wait(uuid, uuid, jsonb) IS
    'a notice of what a statement waits for; with an SQLSTATE where waiting is in vain';
