-- Which runs were asked for by one statement: their results are published together.
ALTER TABLE gavial.runs ADD asked_in xid8;
ALTER TABLE gavial.runs ALTER asked_in SET DEFAULT pg_current_xact_id();
COMMENT ON COLUMN gavial.runs.asked_in IS
    'the transaction that asked; what one transaction asked for is published in one transaction';

ALTER TABLE gavial.queries ADD due timestamptz;
COMMENT ON COLUMN gavial.queries.due IS
    'when the trigger fires next, or fired, if that result is not published yet; null where only REFRESH asks for it';

COMMENT ON COLUMN gavial.triggers.met IS 'whether the goal was met; null where nothing came';
