-- Columns of which some value has no place where values of their type usually lie: they are stored in another way.
ALTER TABLE gavial.sources ADD wide smallint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN gavial.sources.wide IS 'attnums of the columns that are stored, or computed with, in a way that has room for every value, because some query met one';
