-- How far a firing has come that lasts.
ALTER TABLE gavial.executions ADD progress text;
COMMENT ON COLUMN gavial.executions.progress IS 'what is being done, once it has lasted two seconds';
