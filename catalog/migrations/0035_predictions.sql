-- What runs were expected to write and to take, and what publishing their results took.
ALTER TABLE gavial.engines ADD most_bytes float8;
COMMENT ON COLUMN gavial.engines.most_bytes IS
    'memory that the rows may take which a part of a run holds at once to be computed by it; null without a bound';

ALTER TABLE gavial.measurements ADD expected_rows float8;
COMMENT ON COLUMN gavial.measurements.expected_rows IS
    'changed rows that it was expected to write, by the rows that it read; null before this was recorded';

ALTER TABLE gavial.executions ADD publishing_work float8, ADD expected_publishing_work float8;
COMMENT ON COLUMN gavial.executions.publishing_work IS
    'seconds of a processor that writing the result into its table took, PostgreSQL''s own included; null between triggers';
COMMENT ON COLUMN gavial.executions.expected_publishing_work IS
    'what the cost model says of that, before it learned from earlier runs; null between triggers';
COMMENT ON COLUMN gavial.executions.changes_work IS
    'what computing the changes that were due, and publishing them, was expected to take before it began; null where there was nothing to choose';
COMMENT ON COLUMN gavial.executions.recompute_work IS
    'what computing everything from scratch, and publishing it, was expected to take before it began; null where changes had to be computed';
