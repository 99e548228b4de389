-- No query was ever stale, and what its position's time is was said otherwise.
ALTER TABLE gavial.queries DROP CONSTRAINT queries_status_check,
    ADD CONSTRAINT queries_status_check CHECK (status IN ('initialising', 'active', 'suspended', 'error'));
COMMENT ON COLUMN gavial.queries.status IS 'initialising, active, suspended or error';
COMMENT ON COLUMN gavial.queries.status_sqlstate IS 'why it is suspended or in error';
COMMENT ON COLUMN gavial.queries.position_time IS
    'when the last transaction was committed that had been captured as the result was published';
COMMENT ON TABLE gavial.states IS
    'intermediate results: which are kept between runs, and why; empty, as all are kept until MEMORY_BUDGET has an effect';
COMMENT ON COLUMN gavial.subplans.shared_by IS 'queries that use its result; 1, until SHARING has an effect';
