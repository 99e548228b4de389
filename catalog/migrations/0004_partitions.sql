-- The tables that hold the rows of a captured table, so that a partition that comes or goes is noticed.
ALTER TABLE gavial.sources ADD leaves regclass[];
COMMENT ON COLUMN gavial.sources.leaves IS 'the tables that hold its rows: itself, or its partitions';
UPDATE gavial.sources s SET leaves = ARRAY(
    SELECT t.relid FROM pg_partition_tree(s.relation) t WHERE t.isleaf
    UNION SELECT c.oid FROM pg_class c WHERE c.oid = s.relation AND c.relkind = 'r' ORDER BY 1);
