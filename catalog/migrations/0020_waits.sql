-- What statements that wait can see of attempts to copy a table, and results that get new columns with their next rows.
ALTER TABLE gavial.sources ADD attempted timestamptz;
COMMENT ON COLUMN gavial.sources.attempted IS 'when the last attempt to copy it began';

ALTER TABLE gavial.queries ADD columns_due boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN gavial.queries.columns_due IS
    'whether its table lacks columns of the query that replaced another one; they come in the transaction that publishes its result';
COMMENT ON COLUMN gavial.requests.kind IS 'register, forget, options, empty, suspend, resume, refresh or old_row';

DROP FUNCTION IF EXISTS gavial.sent_before(uuid), gavial.say_answer_follows(jsonb);
