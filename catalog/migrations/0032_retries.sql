-- That a run is tried again is a fact of its own, and not to be read out of what clients are told.
ALTER TABLE gavial.runs ADD retrying boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN gavial.runs.retrying IS 'whether it is tried again, because it failed by what may pass';
