-- What work costs in one part of a query, which may be dearer than elsewhere: wide rows, long texts.
ALTER TABLE gavial.subplans ADD weights jsonb;
COMMENT ON COLUMN gavial.subplans.weights IS
    'seconds of a processor for each of what it does, as fitted to its own firings; null where none was measured';
