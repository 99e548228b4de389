-- A run was recorded as one of Spark until an engine had computed a part of it, and where none had to.
COMMENT ON COLUMN gavial.executions.engine IS
    'what computed it, where there are several parts each of them; null before it ends, and where nothing had to be computed';
