-- Generated columns that changes do not tell: one that becomes a plain column is not in the older batches.
ALTER TABLE gavial.sources ADD generated smallint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN gavial.sources.generated IS 'attnums of the generated columns that its changes do not tell';
DO $body$
BEGIN
    IF current_setting('server_version_num')::int >= 180000 THEN
        ALTER PUBLICATION gavial SET (publish_generated_columns = stored);
        UPDATE gavial.sources s SET state = 'joining', detail = 'its generated columns are captured as well; it is copied anew'
        WHERE EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = s.relation AND a.attgenerated = 's' AND NOT a.attisdropped);
    ELSE
        UPDATE gavial.sources s SET generated = ARRAY(
            SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = s.relation AND a.attgenerated <> '' AND NOT a.attisdropped);
    END IF;
END
$body$;

-- Changes come under the name of the partition that they are in, for each table that it is part of.
ALTER PUBLICATION gavial SET (publish_via_partition_root = false);
UPDATE gavial.sources s SET state = 'joining', detail = 'partitions are captured in another way; it is copied anew'
FROM pg_class c WHERE c.oid = s.relation AND (c.relkind = 'p' OR c.relispartition);
CREATE TABLE gavial.former (relation regclass PRIMARY KEY);
COMMENT ON TABLE gavial.former IS 'tables whose changes were captured once: changes of then may still come when they become partitions';
COMMENT ON COLUMN gavial.former.relation IS 'the table';

-- Values that cannot be stored: NULL lies in their place, and whoever reads their column waits until they are gone.
ALTER TABLE gavial.batches ADD unstorable jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN gavial.batches.unstorable IS
    'by column: the sum of the weights of rows with a value that cannot be stored, and why one cannot';
ALTER TABLE gavial.sources ADD unstorable text;
COMMENT ON COLUMN gavial.sources.unstorable IS 'its columns with values that cannot be stored; queries that read one are in error';
-- The login of whoever captures, so that CREATE can tell what it may not read.
ALTER TABLE gavial.capture ADD login text;
COMMENT ON COLUMN gavial.capture.login IS 'role that copies tables and publishes results';
-- Columns with a default of its own for each row that came while a table was captured.
ALTER TABLE gavial.sources ADD outdated smallint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN gavial.sources.outdated IS 'attnums of the columns whose values in older rows are not captured; no query reads them';
