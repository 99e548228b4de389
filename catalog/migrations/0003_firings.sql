-- How standing queries are worked: the plan of each, how far its parts have read, and what clients wait for.
CREATE TABLE gavial.plans (
    query_id uuid PRIMARY KEY REFERENCES gavial.queries ON DELETE CASCADE,
    digest text NOT NULL,
    statistics jsonb NOT NULL,
    planned timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE gavial.plans IS 'the plan that each standing query is worked by';
COMMENT ON COLUMN gavial.plans.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.plans.digest IS 'fingerprint of the plan; with another one the answer is built anew';
COMMENT ON COLUMN gavial.plans.statistics IS 'what was known of the tables when it was planned: the same again give the same plan';
COMMENT ON COLUMN gavial.plans.planned IS 'when it was planned';

CREATE TABLE gavial.offsets (
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    subplan int NOT NULL,
    buffer text NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (query_id, subplan, buffer)
);
COMMENT ON TABLE gavial.offsets IS 'how far each part of a query has read each buffer';
COMMENT ON COLUMN gavial.offsets.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.offsets.subplan IS 'number of the part in the query''s plan';
COMMENT ON COLUMN gavial.offsets.buffer IS 'the buffer that it reads, or the one that it writes';
COMMENT ON COLUMN gavial.offsets.position IS
    'read up to here: a position in the WAL for a table, the number of a firing for what a firing wrote';

CREATE TABLE gavial.runs (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('refresh', 'verify')),
    target pg_lsn NOT NULL,
    asked timestamptz NOT NULL DEFAULT clock_timestamp(),
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    progress text,
    position pg_lsn,
    sqlstate text,
    message text,
    detail text,
    hint text
);
COMMENT ON TABLE gavial.runs IS 'REFRESH and VERIFY statements that wait, and what came of those that waited lately';
COMMENT ON COLUMN gavial.runs.id IS 'identity of the run';
COMMENT ON COLUMN gavial.runs.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.runs.kind IS 'refresh or verify';
COMMENT ON COLUMN gavial.runs.target IS 'what was committed before this position has to be in the answer';
COMMENT ON COLUMN gavial.runs.asked IS 'when the statement began';
COMMENT ON COLUMN gavial.runs.state IS 'waiting, running, done or failed';
COMMENT ON COLUMN gavial.runs.progress IS 'what is being done';
COMMENT ON COLUMN gavial.runs.position IS 'position of the answer that was published, or verified';
COMMENT ON COLUMN gavial.runs.sqlstate IS 'why it failed';
COMMENT ON COLUMN gavial.runs.message IS 'the same in words';
COMMENT ON COLUMN gavial.runs.detail IS 'more of it';
COMMENT ON COLUMN gavial.runs.hint IS 'what can be done';

CREATE TABLE gavial.differences (
    run_id uuid NOT NULL REFERENCES gavial.runs ON DELETE CASCADE,
    side text NOT NULL CHECK (side IN ('missing', 'superfluous')),
    row_text text NOT NULL,
    rows bigint NOT NULL
);
COMMENT ON TABLE gavial.differences IS 'what VERIFY found: rows in which an answer differs from PostgreSQL''s';
COMMENT ON COLUMN gavial.differences.run_id IS 'the run of VERIFY';
COMMENT ON COLUMN gavial.differences.side IS 'missing: PostgreSQL has it and the answer has not; superfluous: the other way round';
COMMENT ON COLUMN gavial.differences.row_text IS 'the row as text';
COMMENT ON COLUMN gavial.differences.rows IS 'how many times more';
