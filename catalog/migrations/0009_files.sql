-- The files in which the partitions of a captured table lie: TRUNCATE of a partition sends nothing, but gives it another.
ALTER TABLE gavial.sources ADD files jsonb;
COMMENT ON COLUMN gavial.sources.files IS 'of a partitioned table: the files of its partitions as they are captured, by oid';
