-- VERIFY compares a result with what PostgreSQL computes, or with what Gavial computes from scratch.
ALTER TABLE gavial.runs ADD compared_with text CHECK (compared_with IN ('postgres', 'spark'));
COMMENT ON COLUMN gavial.runs.compared_with IS 'what VERIFY compares a result with: postgres or spark; null until that is chosen';
COMMENT ON TABLE gavial.differences IS 'what VERIFY found: rows in which a result differs from what it was compared with';
COMMENT ON COLUMN gavial.differences.side IS 'missing: what the result was compared with has it, and the result has not; superfluous: the other way round';
