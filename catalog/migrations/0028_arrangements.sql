-- Rows that are kept to be looked up by key are listed. No row was ever in gavial.states, which is a view now.
DROP TABLE gavial.states;

CREATE TABLE gavial.arrangements (
    buffer text NOT NULL,
    key text[] NOT NULL,
    columns text[] NOT NULL,
    kept boolean NOT NULL,
    why text NOT NULL,
    predicted_bytes bigint NOT NULL,
    bytes bigint NOT NULL,
    rows bigint NOT NULL,
    files integer NOT NULL,
    reached bigint,
    uses bigint NOT NULL,
    last_used timestamptz
);
COMMENT ON TABLE gavial.arrangements IS 'rows that the coordinator keeps to look them up by key';
COMMENT ON COLUMN gavial.arrangements.buffer IS 'folder of the files that the rows are of';
COMMENT ON COLUMN gavial.arrangements.key IS 'columns of the files that rows are looked up by';
COMMENT ON COLUMN gavial.arrangements.columns IS 'columns of the files that are kept of each row';
COMMENT ON COLUMN gavial.arrangements.kept IS 'whether it is there';
COMMENT ON COLUMN gavial.arrangements.why IS 'why it is kept, or is not';
COMMENT ON COLUMN gavial.arrangements.predicted_bytes IS 'size expected before it was made';
COMMENT ON COLUMN gavial.arrangements.bytes IS 'size now';
COMMENT ON COLUMN gavial.arrangements.rows IS 'number of rows now';
COMMENT ON COLUMN gavial.arrangements.files IS 'number of files that the rows are of';
COMMENT ON COLUMN gavial.arrangements.reached IS 'highest offset of these files';
COMMENT ON COLUMN gavial.arrangements.uses IS 'how many runs have looked something up';
COMMENT ON COLUMN gavial.arrangements.last_used IS 'when the last of them did';
