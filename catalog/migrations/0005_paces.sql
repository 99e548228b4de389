-- How often the parts of a query are worked between its triggers, and what that is measured by.
ALTER TABLE gavial.paths
    ALTER reads TYPE text USING reads::text,
    ADD subplan int NOT NULL,
    ADD had bigint NOT NULL DEFAULT 0;
COMMENT ON TABLE gavial.paths IS 'what each part of a query reads: how often it is worked before the trigger';
COMMENT ON COLUMN gavial.paths.reads IS 'the table, or the part of the query, that it reads';
COMMENT ON COLUMN gavial.paths.incrementability IS
    'final work saved by the last raise of its pace, by the work that it added';
COMMENT ON COLUMN gavial.paths.predicted_work IS 'work of all runs in a period of the part that it leads to';
COMMENT ON COLUMN gavial.paths.subplan IS 'the part of the query that it leads to';
COMMENT ON COLUMN gavial.paths.had IS
    'of the period''s changed rows in the tables below it so many had come when it was last worked';

ALTER TABLE gavial.reads ADD expected float8;
COMMENT ON COLUMN gavial.reads.expected IS 'changed rows that a period is expected to bring; null where nobody knows';

ALTER TABLE gavial.executions ADD position pg_lsn;
COMMENT ON COLUMN gavial.executions.position IS 'position in the WAL up to which it read tables';
COMMENT ON COLUMN gavial.executions.paths IS 'the paths that were due between triggers; at a trigger all are';
COMMENT ON COLUMN gavial.executions.measured_work IS 'seconds of a processor, or of time where the engine is on another machine';
COMMENT ON COLUMN gavial.executions.predicted_work IS 'the same by the cost model, for the rows that came';

CREATE TABLE gavial.measurements (
    execution bigint NOT NULL REFERENCES gavial.executions ON DELETE CASCADE,
    subplan int NOT NULL,
    rows_in bigint NOT NULL,
    rows_out bigint NOT NULL,
    seconds float8 NOT NULL,
    features jsonb NOT NULL,
    PRIMARY KEY (execution, subplan)
);
COMMENT ON TABLE gavial.measurements IS 'what each part of a query took in a firing';
COMMENT ON COLUMN gavial.measurements.execution IS 'the firing';
COMMENT ON COLUMN gavial.measurements.subplan IS 'number of the part in the query''s plan';
COMMENT ON COLUMN gavial.measurements.rows_in IS 'changed rows read';
COMMENT ON COLUMN gavial.measurements.rows_out IS 'changed rows written';
COMMENT ON COLUMN gavial.measurements.seconds IS 'its work, in the unit of the firing''s';
COMMENT ON COLUMN gavial.measurements.features IS 'what the cost model sees of it, by name';

CREATE TABLE gavial.weights (
    weights jsonb NOT NULL,
    fitted timestamptz NOT NULL DEFAULT now(),
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
COMMENT ON TABLE gavial.weights IS 'what the cost model has learned on this installation: one row, or none yet';
COMMENT ON COLUMN gavial.weights.weights IS 'seconds of a processor by feature';
COMMENT ON COLUMN gavial.weights.fitted IS 'when it learned last';
COMMENT ON COLUMN gavial.weights.single IS 'keeps the table to one row';

CREATE INDEX batches_by_offset ON gavial.batches (buffer, from_offset);
GRANT SELECT ON gavial.measurements, gavial.weights TO PUBLIC;
