-- Columns that were added with a default: PostgreSQL writes it into no older row, and neither has the warehouse.
CREATE TABLE gavial.defaults (
    relation regclass NOT NULL,
    number int NOT NULL,
    value text,
    PRIMARY KEY (relation, number)
);
COMMENT ON TABLE gavial.defaults IS 'columns that were added to captured tables, and what they are in the rows that were there already';
COMMENT ON COLUMN gavial.defaults.relation IS 'the table';
COMMENT ON COLUMN gavial.defaults.number IS 'attnum of the column';
COMMENT ON COLUMN gavial.defaults.value IS 'its value in older rows, as text';
COMMENT ON COLUMN gavial.sources.detail IS 'why it is stopped or waits, or what of it is not captured';
