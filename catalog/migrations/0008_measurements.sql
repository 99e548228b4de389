-- How long each part of a query took, and the firings of a period found by their positions.
ALTER TABLE gavial.measurements ADD elapsed float8 NOT NULL;
COMMENT ON COLUMN gavial.measurements.elapsed IS 'seconds from its beginning to its end';
CREATE INDEX executions_by_position ON gavial.executions (position);
