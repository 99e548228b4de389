-- The old row by key: tables that keep the replica identity they have, because capture has a copy of their rows.
CREATE OR REPLACE FUNCTION gavial.identity_index(relation oid) RETURNS oid
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT i.indexrelid
    FROM pg_class c LEFT JOIN gavial.identities g ON g.relation = c.oid JOIN pg_index i ON i.indrelid = c.oid
    WHERE c.oid = $1 AND i.indisvalid AND i.indisunique AND i.indimmediate AND i.indpred IS NULL
        AND CASE coalesce(g.before, c.relreplident)
            WHEN 'd' THEN i.indisprimary
            WHEN 'i' THEN CASE WHEN g.before = 'i' THEN i.indexrelid = g.before_index ELSE i.indisreplident END
            ELSE false END
$body$;
COMMENT ON FUNCTION gavial.identity_index(oid) IS 'the index by which a table tells rows apart where capture changes nothing about it';

CREATE OR REPLACE FUNCTION gavial.key_of(relation oid) RETURNS smallint[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT (i.indkey::smallint[])[0:i.indnkeyatts - 1]
    FROM pg_index i
    WHERE i.indexrelid = gavial.identity_index($1)
        -- What partitions send is put into the words of their partitioned table, so their keys have to be its key; it
        -- may be a partition itself.
        AND NOT EXISTS (
            SELECT FROM gavial.leaves($1) l
            WHERE l <> $1 AND i.indexrelid::regclass NOT IN (SELECT a FROM pg_partition_ancestors(gavial.identity_index(l)) a))
$body$;
COMMENT ON FUNCTION gavial.key_of(oid) IS 'attnums of the key that updates and deletes of a table tell; null: they tell none';

CREATE OR REPLACE FUNCTION gavial.is_out_of_line(relation oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(sum(pg_relation_size(nullif(c.reltoastrelid, 0))) >= 2000 * nullif(sum(greatest(c.reltuples, 0)), 0), false)
    FROM pg_class c WHERE c.oid IN (SELECT l FROM gavial.leaves($1) l)
$body$;
COMMENT ON FUNCTION gavial.is_out_of_line(oid) IS
    'whether the rows of a table have 2,000 bytes or more out of line on average, which an update leaves where they are unless it has to tell them';

CREATE OR REPLACE FUNCTION gavial.wants_key(relation oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT s.state = 'captured' AND CASE s.old_row_wanted WHEN 'auto' THEN gavial.is_out_of_line($1) ELSE s.old_row_wanted = 'key' END
       AND gavial.key_of($1) IS NOT NULL
    FROM gavial.sources s WHERE s.relation = $1
$body$;
COMMENT ON FUNCTION gavial.wants_key(oid) IS 'whether the old rows of a captured table should be looked up by key';

CREATE OR REPLACE FUNCTION gavial.keeps_key(relation oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT s.old_row_by = 'key' AND s.state = 'captured' AND s.old_row_key IS NOT DISTINCT FROM gavial.key_of($1)
    FROM gavial.sources s WHERE s.relation = $1
$body$;
COMMENT ON FUNCTION gavial.keeps_key(oid) IS 'whether a captured table needs to tell no more than its key, as it is';

CREATE OR REPLACE FUNCTION gavial.restore_identity(relation oid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '100ms'
AS $body$
BEGIN
    -- In the order in which ALTER TABLE takes them: the table, then what we know of it.
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', relation::regclass);
    UPDATE gavial.sources s SET old_row_by = 'key'
    WHERE s.relation = restore_identity.relation AND gavial.wants_key(s.relation) AND s.old_row_key = gavial.key_of(s.relation);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM gavial.give_back(relation);
    RETURN true;
END
$body$;
REVOKE ALL ON FUNCTION gavial.restore_identity(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.restore_identity(oid) IS 'gives a table its replica identity back, now that its rows can be looked up; false: not any more';

CREATE OR REPLACE FUNCTION gavial.set_identity_full(relation oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '2s'
AS $body$
BEGIN
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', relation::regclass);
    PERFORM gavial.keep_whole_rows(relation);
END
$body$;
REVOKE ALL ON FUNCTION gavial.set_identity_full(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.set_identity_full(oid) IS 'sets a table to REPLICA IDENTITY FULL again, so that updates and deletes send the whole old row';

CREATE OR REPLACE FUNCTION gavial.choose_old_row(relation oid, how text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '2s'
AS $body$
BEGIN
    IF how IS NULL OR how NOT IN ('auto', 'full', 'key') THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('%L is no way to know old rows', how), HINT = 'The ways are auto, full and key.';
    END IF;
    IF how = 'key' AND gavial.key_of(relation) IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('table %s tells no key of the rows that are changed', relation::regclass),
            HINT = 'It needs a primary key that is not deferrable, or REPLICA IDENTITY USING INDEX.';
    END IF;
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', relation::regclass);
    UPDATE gavial.sources s SET old_row_wanted = how WHERE s.relation = choose_old_row.relation;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('table %s is not captured', relation::regclass), HINT = 'No standing query reads it.';
    END IF;
    IF NOT gavial.wants_key(relation) THEN
        PERFORM gavial.keep_whole_rows(relation);
    END IF;
    NOTIFY gavial;
END
$body$;
REVOKE ALL ON FUNCTION gavial.choose_old_row(oid, text) FROM PUBLIC;
COMMENT ON FUNCTION gavial.choose_old_row(oid, text) IS 'what gavial.set_old_row asks for';

CREATE OR REPLACE FUNCTION gavial.set_old_row(relation regclass, how text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    INSERT INTO gavial.requests (kind, result, arguments) VALUES ('old_row', relation, jsonb_build_object('how', how));
END
$body$;
COMMENT ON FUNCTION gavial.set_old_row(regclass, text) IS
    'how capture knows the old rows of a table, for its owner to say: full (each update and delete tells it), key (it is looked up), or auto (key where much of a row lies out of line)';
