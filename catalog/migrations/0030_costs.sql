-- What work costs on each engine, and which engine is chosen for what.
DROP TABLE gavial.weights;
CREATE TABLE gavial.engines (
    engine text PRIMARY KEY,
    weights jsonb NOT NULL,
    most_changed float8,
    most_read float8,
    fitted timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE gavial.engines IS 'the engines that compute runs, and what the cost model has learned of each on this installation';
COMMENT ON COLUMN gavial.engines.engine IS 'name of the engine';
COMMENT ON COLUMN gavial.engines.weights IS 'seconds of a processor by feature';
COMMENT ON COLUMN gavial.engines.most_changed IS 'changed rows that a part of a run may have at most to be computed by it; null without a bound';
COMMENT ON COLUMN gavial.engines.most_read IS 'rows that a part of a run may read at most to be computed by it; null without a bound';
COMMENT ON COLUMN gavial.engines.fitted IS 'when it learned last';
GRANT SELECT ON gavial.engines TO PUBLIC;

ALTER TABLE gavial.measurements ADD reason text, ADD repeated boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN gavial.measurements.reason IS 'why this engine computed it';
COMMENT ON COLUMN gavial.measurements.repeated IS
    'whether another engine had begun it and given up: then its work is not only this engine''s, and teaches nothing';

ALTER TABLE gavial.executions
    ADD from_scratch boolean NOT NULL DEFAULT false, ADD changes_work float8, ADD recompute_work float8;
COMMENT ON COLUMN gavial.executions.from_scratch IS 'whether it computed everything from scratch, and not changes';
COMMENT ON COLUMN gavial.executions.changes_work IS
    'what computing the changes that were due was expected to take, before it began; null where nothing was to be chosen';
COMMENT ON COLUMN gavial.executions.recompute_work IS
    'what computing everything from scratch was expected to take, before it began; null where nothing was to be chosen';

UPDATE gavial.subplans SET weights = NULL;
ALTER TABLE gavial.subplans ADD engine text, ADD reason text, ADD predicted_work float8;
COMMENT ON COLUMN gavial.subplans.weights IS
    'by engine, seconds of a processor for each of what it does, as fitted to its own runs; null where none was measured';
COMMENT ON COLUMN gavial.subplans.engine IS 'the engine that is expected to compute it when the trigger fires';
COMMENT ON COLUMN gavial.subplans.reason IS 'why that engine';
COMMENT ON COLUMN gavial.subplans.predicted_work IS 'its work when the trigger fires by the cost model; gavial.measurements has what it took';
