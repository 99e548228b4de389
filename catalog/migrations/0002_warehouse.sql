-- What is captured: the batches of the warehouse, and how far the stream of changes was followed.
CREATE TABLE gavial.batches (
    buffer text NOT NULL,
    file text NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    sha256 text NOT NULL,
    from_offset bigint NOT NULL,
    to_offset bigint NOT NULL,
    schema_version int NOT NULL,
    bounds jsonb NOT NULL,
    PRIMARY KEY (buffer, file),
    CHECK (from_offset < to_offset)
);
COMMENT ON TABLE gavial.batches IS 'the manifest of the warehouse: a file that is not here does not count';
COMMENT ON COLUMN gavial.batches.buffer IS 'whose changes they are: a table''s (table-OID) or a node''s of a plan';
COMMENT ON COLUMN gavial.batches.file IS 'the file, relative to the warehouse';
COMMENT ON COLUMN gavial.batches.rows IS 'changed rows in it';
COMMENT ON COLUMN gavial.batches.bytes IS 'size of the file';
COMMENT ON COLUMN gavial.batches.sha256 IS 'of the file';
COMMENT ON COLUMN gavial.batches.from_offset IS 'all its changes are behind this position in the WAL';
COMMENT ON COLUMN gavial.batches.to_offset IS 'and none is behind this one';
COMMENT ON COLUMN gavial.batches.schema_version IS 'version of the buffer''s columns that its rows have';
COMMENT ON COLUMN gavial.batches.bounds IS 'least and greatest value by column, where they are known';

CREATE TABLE gavial.capture (
    slot text,
    epoch bigint NOT NULL DEFAULT 0,
    position pg_lsn,
    position_time timestamptz,
    state text NOT NULL DEFAULT 'stopped' CHECK (state IN ('stopped', 'running', 'paused', 'failed')),
    detail text,
    retained_wal bigint,
    max_wal bigint,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
COMMENT ON TABLE gavial.capture IS 'how far the changes of this database were followed: one row';
COMMENT ON COLUMN gavial.capture.slot IS 'replication slot that they come from';
COMMENT ON COLUMN gavial.capture.epoch IS 'which coordinator is at work: whoever takes over counts it up, and who has an older one may write nothing';
COMMENT ON COLUMN gavial.capture.position IS 'position in the WAL up to which every transaction is in the warehouse';
COMMENT ON COLUMN gavial.capture.position_time IS 'commit time of the last transaction that is there';
COMMENT ON COLUMN gavial.capture.state IS 'stopped, running, paused (it goes on by itself) or failed (somebody has to act)';
COMMENT ON COLUMN gavial.capture.detail IS 'why it is not running, or what threatens it';
COMMENT ON COLUMN gavial.capture.retained_wal IS 'bytes of WAL that the server keeps for the slot';
COMMENT ON COLUMN gavial.capture.max_wal IS 'how many it may keep before the slot is lost; null: without limit';
COMMENT ON COLUMN gavial.capture.single IS 'keeps the table to one row';
INSERT INTO gavial.capture DEFAULT VALUES;

CREATE TABLE gavial.schemas (
    relation regclass NOT NULL,
    version int NOT NULL,
    columns jsonb NOT NULL,
    PRIMARY KEY (relation, version)
);
COMMENT ON TABLE gavial.schemas IS 'the columns that captured tables have and had';
COMMENT ON COLUMN gavial.schemas.relation IS 'the table';
COMMENT ON COLUMN gavial.schemas.version IS 'number of the version, from 1';
COMMENT ON COLUMN gavial.schemas.columns IS 'its columns in order: attnum, name, oid and modifier of the type';

CREATE TABLE gavial.arrivals (
    relation regclass NOT NULL,
    hour timestamptz NOT NULL,
    rows bigint NOT NULL,
    PRIMARY KEY (relation, hour)
);
COMMENT ON TABLE gavial.arrivals IS 'changed rows by hour of their commit';
COMMENT ON COLUMN gavial.arrivals.relation IS 'the table';
COMMENT ON COLUMN gavial.arrivals.hour IS 'the hour, by its beginning';
COMMENT ON COLUMN gavial.arrivals.rows IS 'rows inserted, updated (both versions count) and deleted';

ALTER TABLE gavial.sources
    ADD state text NOT NULL DEFAULT 'joining' CHECK (state IN ('joining', 'copying', 'captured', 'stopped')),
    ADD detail text,
    ADD buffer text,
    ADD emptied pg_lsn;
COMMENT ON COLUMN gavial.sources.state IS
    'joining (waits for its copy), copying, captured, or stopped (its changes can no longer be followed)';
COMMENT ON COLUMN gavial.sources.detail IS 'why it is stopped';
COMMENT ON COLUMN gavial.sources.buffer IS 'where its changes are in the warehouse';
COMMENT ON COLUMN gavial.sources.emptied IS 'position of its last TRUNCATE: what was there before has been taken back';

GRANT SELECT ON gavial.capture, gavial.arrivals TO PUBLIC;
