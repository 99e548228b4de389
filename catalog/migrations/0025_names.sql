-- Routines and columns have names that say what they are.
ALTER TABLE gavial.paths RENAME had TO rows_at_last_run;
COMMENT ON COLUMN gavial.paths.rows_at_last_run IS 'changed rows of this period in the tables below it that had arrived at its last run';
ALTER TABLE gavial.paths ADD had bigint GENERATED ALWAYS AS (rows_at_last_run) STORED;
COMMENT ON COLUMN gavial.paths.had IS 'an older name of rows_at_last_run; the next release does not have it';

ALTER TABLE gavial.measurements ADD seconds double precision GENERATED ALWAYS AS (work) STORED;
COMMENT ON COLUMN gavial.measurements.seconds IS 'an older name of work; the next release does not have it';

COMMENT ON COLUMN gavial.queries.result IS 'the table that holds the result';
COMMENT ON COLUMN gavial.queries.position IS 'position in the WAL at which the result is exact; null before the first result';
COMMENT ON COLUMN gavial.queries.batch_work IS 'work of doing the last period''s changes in one run';
COMMENT ON COLUMN gavial.queries.recompute_work IS 'work of computing the result from scratch';
COMMENT ON TABLE gavial.paths IS 'what each part of a query reads: how often it is computed before the trigger';
COMMENT ON COLUMN gavial.states.last_used IS 'last run that read it';
COMMENT ON TABLE gavial.executions IS 'one row for each run';
COMMENT ON COLUMN gavial.executions.id IS 'number of the run';
COMMENT ON COLUMN gavial.executions.query_ids IS 'the standing queries it computed';
COMMENT ON COLUMN gavial.executions.predicted_work IS 'the same by the cost model, for the rows that arrived';
COMMENT ON TABLE gavial.triggers IS 'one row for each result published';
COMMENT ON COLUMN gavial.triggers.position IS 'position in the WAL of the result';
COMMENT ON COLUMN gavial.triggers.batch_work IS 'work of doing the period''s changes in one run';
COMMENT ON COLUMN gavial.triggers.final_seconds IS 'from the trigger to the result';
COMMENT ON COLUMN gavial.triggers.met IS 'whether the goal was met; null where no rows arrived';
COMMENT ON COLUMN gavial.requests.result IS 'the table that holds the result';
COMMENT ON TABLE gavial.plans IS 'the plan that each standing query is computed by';
COMMENT ON COLUMN gavial.plans.digest IS 'fingerprint of the plan; with another one the result is computed from scratch';
COMMENT ON COLUMN gavial.offsets.position IS 'read up to here: a position in the WAL for a table, the number of a run for what a run wrote';
COMMENT ON COLUMN gavial.runs.target IS 'what was committed before this position has to be in the result';
COMMENT ON COLUMN gavial.runs.position IS 'position of the result that was published, or verified';
COMMENT ON TABLE gavial.differences IS 'what VERIFY found: rows in which a result differs from PostgreSQL''s';
COMMENT ON COLUMN gavial.differences.side IS 'missing: PostgreSQL has it and the result has not; superfluous: the other way round';
COMMENT ON TABLE gavial.measurements IS 'what each part of a query took in a run';
COMMENT ON COLUMN gavial.measurements.execution IS 'the run';
COMMENT ON COLUMN gavial.measurements.work IS 'its work, in the unit of the run''s';
COMMENT ON COLUMN gavial.subplans.weights IS 'seconds of a processor for each of what it does, as fitted to its own runs; null where none was measured';

-- Last: rewriting a table calls what has these names, until the routines are replaced.
DROP FUNCTION IF EXISTS gavial.looked(jsonb), gavial.rest(jsonb), gavial.news_of_runs(jsonb), gavial.news_of_result(jsonb),
    gavial.told(text, text, text, text), gavial.tell_whole_rows(oid), gavial.tell_keys(oid), gavial.told_columns(oid),
    gavial.untold_columns(oid), gavial.process_words(int), gavial.when_again(timestamptz), gavial.first_answer(regclass);
DROP PROCEDURE IF EXISTS gavial.look_around(boolean);
