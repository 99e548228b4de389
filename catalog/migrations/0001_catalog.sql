-- The relations of the schema gavial, and the schema of the hidden views.
CREATE SCHEMA gavial_views;
COMMENT ON SCHEMA gavial_views IS 'one hidden view for each standing query, owned by its creator';
GRANT USAGE, CREATE ON SCHEMA gavial_views TO PUBLIC;

CREATE TABLE gavial.installation (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    digest text NOT NULL,
    version text NOT NULL,
    system_identifier bigint NOT NULL,
    database oid NOT NULL,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
COMMENT ON TABLE gavial.installation IS 'this installation of Gavial: one row';
COMMENT ON COLUMN gavial.installation.id IS 'part of the identity of the warehouse';
COMMENT ON COLUMN gavial.installation.digest IS 'fingerprint of what is installed in this schema';
COMMENT ON COLUMN gavial.installation.version IS 'version of Gavial that installed this schema';
COMMENT ON COLUMN gavial.installation.system_identifier IS 'of the cluster in which the queries were made; another one: restored';
COMMENT ON COLUMN gavial.installation.database IS 'of the database in which the queries were made; another one: copied or restored';
COMMENT ON COLUMN gavial.installation.single IS 'keeps the table to one row';

CREATE TABLE gavial.queries (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    view regclass NOT NULL UNIQUE,
    result regclass NOT NULL UNIQUE,
    query_text text NOT NULL,
    settings jsonb NOT NULL,
    options jsonb NOT NULL CHECK ((options ->> 'FINAL_WORK')::float8 BETWEEN 1e-300 AND 1),
    status text NOT NULL CHECK (status IN ('initialising', 'active', 'suspended', 'stale', 'error')),
    status_sqlstate text,
    status_detail text,
    position pg_lsn,
    position_time timestamptz,
    predicted_final_work float8,
    measured_final_work float8,
    batch_work float8,
    recompute_work float8,
    goal_reachable boolean
);
COMMENT ON TABLE gavial.queries IS 'the standing queries of this database; read gavial.standing_queries';
COMMENT ON COLUMN gavial.queries.id IS 'identity of the query, for ever';
COMMENT ON COLUMN gavial.queries.view IS 'the hidden view that holds the SELECT';
COMMENT ON COLUMN gavial.queries.result IS 'the table of the answer';
COMMENT ON COLUMN gavial.queries.query_text IS 'the SELECT as its creator wrote it';
COMMENT ON COLUMN gavial.queries.settings IS 'the creator''s settings on which the meaning of the SELECT may depend';
COMMENT ON COLUMN gavial.queries.options IS 'options given, by name';
COMMENT ON COLUMN gavial.queries.status IS 'initialising, active, suspended, stale or error';
COMMENT ON COLUMN gavial.queries.status_sqlstate IS 'why it is suspended, stale or in error';
COMMENT ON COLUMN gavial.queries.status_detail IS 'the same in words';
COMMENT ON COLUMN gavial.queries.position IS 'position in the WAL at which the answer is exact; null before the first answer';
COMMENT ON COLUMN gavial.queries.position_time IS 'commit time at that position';
COMMENT ON COLUMN gavial.queries.predicted_final_work IS 'share of batch_work that the plan leaves for the trigger';
COMMENT ON COLUMN gavial.queries.measured_final_work IS 'the same, measured at the last trigger';
COMMENT ON COLUMN gavial.queries.batch_work IS 'work of doing the last period''s changes in one firing';
COMMENT ON COLUMN gavial.queries.recompute_work IS 'work of computing the answer from scratch';
COMMENT ON COLUMN gavial.queries.goal_reachable IS 'whether some plan meets the goal';

CREATE TABLE gavial.reads (
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    relation regclass NOT NULL,
    PRIMARY KEY (query_id, relation)
);
COMMENT ON TABLE gavial.reads IS 'the tables that each standing query reads, through views as well';
COMMENT ON COLUMN gavial.reads.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.reads.relation IS 'the table';
CREATE INDEX reads_by_relation ON gavial.reads (relation);

CREATE TABLE gavial.paths (
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    path int NOT NULL,
    reads regclass NOT NULL,
    pace int NOT NULL,
    incrementability float8,
    predicted_work float8,
    reason text,
    PRIMARY KEY (query_id, path)
);
COMMENT ON TABLE gavial.paths IS 'from each input of a query to its answer: how often it runs before the trigger';
COMMENT ON COLUMN gavial.paths.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.paths.path IS 'number of the path in the query''s plan';
COMMENT ON COLUMN gavial.paths.reads IS 'table at which the path begins';
COMMENT ON COLUMN gavial.paths.pace IS 'runs in a trigger''s period';
COMMENT ON COLUMN gavial.paths.incrementability IS 'final work saved by another run, by the work it adds';
COMMENT ON COLUMN gavial.paths.predicted_work IS 'work of all its runs in a period';
COMMENT ON COLUMN gavial.paths.reason IS 'why this pace';

CREATE TABLE gavial.subplans (
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    subplan int NOT NULL,
    text text NOT NULL,
    method text NOT NULL,
    shared_by int NOT NULL DEFAULT 1,
    PRIMARY KEY (query_id, subplan)
);
COMMENT ON TABLE gavial.subplans IS 'the parts that a query is run in';
COMMENT ON COLUMN gavial.subplans.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.subplans.subplan IS 'number of the part in the query''s plan';
COMMENT ON COLUMN gavial.subplans.text IS 'what it computes';
COMMENT ON COLUMN gavial.subplans.method IS 'the incremental method it uses';
COMMENT ON COLUMN gavial.subplans.shared_by IS 'queries that use its result';

CREATE TABLE gavial.states (
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    state text NOT NULL,
    kept boolean NOT NULL,
    why text,
    predicted_bytes bigint,
    bytes bigint,
    last_used timestamptz,
    PRIMARY KEY (query_id, state)
);
COMMENT ON TABLE gavial.states IS 'intermediate results: which are kept between runs, and why';
COMMENT ON COLUMN gavial.states.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.states.state IS 'what it is the state of';
COMMENT ON COLUMN gavial.states.kept IS 'whether it is kept while the query is idle';
COMMENT ON COLUMN gavial.states.why IS 'reason of the choice';
COMMENT ON COLUMN gavial.states.predicted_bytes IS 'size expected by the planner';
COMMENT ON COLUMN gavial.states.bytes IS 'size now';
COMMENT ON COLUMN gavial.states.last_used IS 'last firing that read it';

CREATE TABLE gavial.executions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    query_ids uuid[] NOT NULL,
    paths int[] NOT NULL,
    started timestamptz NOT NULL,
    finished timestamptz,
    rows_in bigint,
    rows_out bigint,
    cpu_seconds float8,
    wall_seconds float8,
    predicted_work float8,
    measured_work float8,
    jobs int,
    engine text
);
COMMENT ON TABLE gavial.executions IS 'one row for each firing';
COMMENT ON COLUMN gavial.executions.id IS 'number of the firing';
COMMENT ON COLUMN gavial.executions.query_ids IS 'the standing queries it worked for';
COMMENT ON COLUMN gavial.executions.paths IS 'the paths that were due';
COMMENT ON COLUMN gavial.executions.started IS 'when it began';
COMMENT ON COLUMN gavial.executions.finished IS 'when it was committed; null while it runs, or if it failed';
COMMENT ON COLUMN gavial.executions.rows_in IS 'changed rows read';
COMMENT ON COLUMN gavial.executions.rows_out IS 'changed rows written';
COMMENT ON COLUMN gavial.executions.cpu_seconds IS 'of the engine and its driver';
COMMENT ON COLUMN gavial.executions.wall_seconds IS 'from start to commit';
COMMENT ON COLUMN gavial.executions.predicted_work IS 'by the cost model';
COMMENT ON COLUMN gavial.executions.measured_work IS 'in the same unit';
COMMENT ON COLUMN gavial.executions.jobs IS 'jobs it took';
COMMENT ON COLUMN gavial.executions.engine IS 'what ran it';

CREATE TABLE gavial.triggers (
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    fired timestamptz NOT NULL,
    position pg_lsn NOT NULL,
    goal float8,
    predicted_final_work float8,
    measured_final_work float8,
    batch_work float8,
    final_seconds float8,
    total_work float8,
    met boolean,
    PRIMARY KEY (query_id, fired)
);
COMMENT ON TABLE gavial.triggers IS 'one row for each answer published';
COMMENT ON COLUMN gavial.triggers.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.triggers.fired IS 'when its trigger fired';
COMMENT ON COLUMN gavial.triggers.position IS 'position in the WAL of the answer';
COMMENT ON COLUMN gavial.triggers.goal IS 'final work asked for';
COMMENT ON COLUMN gavial.triggers.predicted_final_work IS 'final work the plan promised';
COMMENT ON COLUMN gavial.triggers.measured_final_work IS 'final work it took';
COMMENT ON COLUMN gavial.triggers.batch_work IS 'work of doing the period''s changes in one firing';
COMMENT ON COLUMN gavial.triggers.final_seconds IS 'from the trigger to the answer';
COMMENT ON COLUMN gavial.triggers.total_work IS 'work of the whole period';
COMMENT ON COLUMN gavial.triggers.met IS 'whether the goal was met';

CREATE TABLE gavial.sources (
    relation regclass PRIMARY KEY,
    captured_from pg_lsn,
    position pg_lsn,
    lag_bytes bigint,
    retained_wal bigint,
    old_row_by text,
    rows_per_hour float8
);
COMMENT ON TABLE gavial.sources IS 'the tables whose changes are captured';
COMMENT ON COLUMN gavial.sources.relation IS 'the table';
COMMENT ON COLUMN gavial.sources.captured_from IS 'position of its snapshot';
COMMENT ON COLUMN gavial.sources.position IS 'position up to which its changes are in the warehouse';
COMMENT ON COLUMN gavial.sources.lag_bytes IS 'WAL behind the server';
COMMENT ON COLUMN gavial.sources.retained_wal IS 'WAL the server keeps for us';
COMMENT ON COLUMN gavial.sources.old_row_by IS 'what an update says of its old row: all of it (full), or its key';
COMMENT ON COLUMN gavial.sources.rows_per_hour IS 'changed rows, lately';

CREATE TABLE gavial.refusals (
    rule text PRIMARY KEY,
    message text NOT NULL,
    hint text NOT NULL,
    reason text NOT NULL
);
COMMENT ON TABLE gavial.refusals IS 'what a standing query may not contain';
COMMENT ON COLUMN gavial.refusals.rule IS 'key of the rule';
COMMENT ON COLUMN gavial.refusals.message IS 'what CREATE says; %s is the offending piece';
COMMENT ON COLUMN gavial.refusals.hint IS 'a way out';
COMMENT ON COLUMN gavial.refusals.reason IS 'why it cannot be maintained';

CREATE TABLE gavial.identities (
    relation regclass PRIMARY KEY,
    before "char" NOT NULL,
    before_index regclass
);
COMMENT ON TABLE gavial.identities IS 'tables whose replica identity was changed for capture, and what it was';
COMMENT ON COLUMN gavial.identities.relation IS 'the table, or the partition';
COMMENT ON COLUMN gavial.identities.before IS 'its replica identity before: d, n or i';
COMMENT ON COLUMN gavial.identities.before_index IS 'the index of that identity';

CREATE TABLE gavial.turn (
    number bigint NOT NULL,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
COMMENT ON TABLE gavial.turn IS 'one row that every change of standing queries updates, so that they come one after the other';
COMMENT ON COLUMN gavial.turn.number IS 'changes so far';
COMMENT ON COLUMN gavial.turn.single IS 'keeps the table to one row';
INSERT INTO gavial.turn (number) VALUES (0);

CREATE TABLE gavial.requests (
    kind text NOT NULL,
    result oid NOT NULL,
    view oid,
    arguments jsonb
);
COMMENT ON TABLE gavial.requests IS 'where statements hand over what needs more rights than the caller''s; stays empty';
COMMENT ON COLUMN gavial.requests.kind IS 'register, forget, options, suspend or resume';
COMMENT ON COLUMN gavial.requests.result IS 'the table of the answer';
COMMENT ON COLUMN gavial.requests.view IS 'the hidden view, where a query is registered';
COMMENT ON COLUMN gavial.requests.arguments IS 'what else there is to say';
GRANT INSERT ON gavial.requests TO PUBLIC;

CREATE PUBLICATION gavial WITH (publish_via_partition_root = true);
COMMENT ON PUBLICATION gavial IS 'the tables that standing queries read';
