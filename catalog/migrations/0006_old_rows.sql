-- How capture knows the old row of an update or a delete: it says all of it, or it is looked up by its key in a copy.
UPDATE gavial.sources SET old_row_by = 'full';
ALTER TABLE gavial.sources
    ALTER old_row_by SET DEFAULT 'full',
    ALTER old_row_by SET NOT NULL,
    ADD CHECK (old_row_by IN ('full', 'key')),
    ADD old_row_wanted text NOT NULL DEFAULT 'auto' CHECK (old_row_wanted IN ('auto', 'full', 'key')),
    ADD old_row_key smallint[],
    ADD old_rows text;
COMMENT ON COLUMN gavial.sources.old_row_wanted IS 'what its owner chose by gavial.set_old_row';
COMMENT ON COLUMN gavial.sources.old_row_key IS 'attnums of the key by which its rows are looked up';
COMMENT ON COLUMN gavial.sources.old_rows IS 'file of the rows by key, which may be behind while old_row_by is full';
