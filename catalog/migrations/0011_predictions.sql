-- What the cost model said of each part of a firing.
ALTER TABLE gavial.measurements ADD predicted float8;
COMMENT ON COLUMN gavial.measurements.predicted IS 'its work by the cost model';
