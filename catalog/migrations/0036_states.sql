-- Which states each query is to keep within its memory budget.
CREATE TABLE gavial.decided_states (
    query_id uuid NOT NULL REFERENCES gavial.queries ON DELETE CASCADE,
    buffer text NOT NULL,
    key text[] NOT NULL,
    kept boolean NOT NULL,
    why text NOT NULL,
    predicted_bytes bigint NOT NULL,
    PRIMARY KEY (query_id, buffer, key)
);
COMMENT ON TABLE gavial.decided_states IS 'rows that queries are to keep by key within their memory budgets, and those that they are not';
COMMENT ON COLUMN gavial.decided_states.query_id IS 'the standing query';
COMMENT ON COLUMN gavial.decided_states.buffer IS 'folder of the files that the rows are of';
COMMENT ON COLUMN gavial.decided_states.key IS 'columns of the files that rows are looked up by, in the order of their names';
COMMENT ON COLUMN gavial.decided_states.kept IS 'whether the query keeps them';
COMMENT ON COLUMN gavial.decided_states.why IS 'why it does, or does not';
COMMENT ON COLUMN gavial.decided_states.predicted_bytes IS 'size expected at the end of the period';
