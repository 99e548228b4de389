-- Small runs are computed in the process, and large ones by Spark: which, is recorded for each part.
ALTER TABLE gavial.measurements ADD engine text;
COMMENT ON COLUMN gavial.measurements.engine IS 'what computed it: DuckDB in the coordinator''s process, or Spark';
COMMENT ON COLUMN gavial.executions.engine IS 'what computed it, where there are several parts each of them';
