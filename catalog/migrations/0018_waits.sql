-- What statements that wait are told: when a failed attempt of the coordinator began and when the next one does, and
-- which session waits for a run.
ALTER TABLE gavial.capture ADD attempted timestamptz, ADD next_attempt timestamptz;
COMMENT ON COLUMN gavial.capture.attempted IS 'when the attempt began that failed last; null while all goes well';
COMMENT ON COLUMN gavial.capture.next_attempt IS 'when the next attempt begins, at the latest';

ALTER TABLE gavial.runs ADD process int;
COMMENT ON COLUMN gavial.runs.process IS 'process of the server that runs the statement; when it is gone, nobody waits';

DROP FUNCTION IF EXISTS gavial.ask(text, oid, uuid), gavial.news_of_runs(uuid[]), gavial.news_of_answer(uuid),
    gavial.progress_of(uuid), gavial.warn_of_answer(text, text), gavial.nobody_works(jsonb), gavial.end_cancelled(jsonb, text), gavial.is_coordinated();
