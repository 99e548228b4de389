-- What was learned of the estimates, and the kinds of changes that come to tables: both outlive the coordinator.
ALTER TABLE gavial.subplans ADD correction float8;
COMMENT ON COLUMN gavial.subplans.correction IS
    'how many times as many rows it writes as the cost model says; null where nothing is known of it';

ALTER TABLE gavial.arrivals
    ADD updates bigint NOT NULL DEFAULT 0,
    ADD deletes bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN gavial.arrivals.updates IS 'updates among them, each counted once';
COMMENT ON COLUMN gavial.arrivals.deletes IS 'rows deleted among them';
