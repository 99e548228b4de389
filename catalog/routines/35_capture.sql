-- What capture needs of the tables that standing queries read: a place in the publication, and the old row of an update.
-- The whole old row is what a change takes back; so the replica identity of a table becomes FULL before it is published,
-- and a table without one could no longer be updated.
CREATE OR REPLACE FUNCTION gavial.leaves(relation oid) RETURNS SETOF oid
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT c.oid FROM pg_class c
    WHERE c.oid = $1 AND c.relkind = 'r'
       OR c.oid IN (SELECT t.relid FROM pg_partition_tree($1) t WHERE t.isleaf)
$body$;
COMMENT ON FUNCTION gavial.leaves(oid) IS 'the tables that hold the rows of a table: itself, or its partitions';

CREATE OR REPLACE FUNCTION gavial.captured_columns(relation oid) RETURNS SETOF pg_attribute
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- Before PostgreSQL 18 changes do not tell generated columns, and virtual ones never.
    SELECT a.* FROM pg_attribute a
    WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
      AND (a.attgenerated = '' OR a.attgenerated = 's' AND current_setting('server_version_num')::int >= 180000)
$body$;
COMMENT ON FUNCTION gavial.captured_columns(oid) IS 'the columns of a table that PostgreSQL sends with its changes: those that are captured';

CREATE OR REPLACE FUNCTION gavial.uncaptured_columns(relation oid) RETURNS smallint[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT ARRAY(
        SELECT a.attnum FROM pg_attribute a
        WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attnum NOT IN (SELECT t.attnum FROM gavial.captured_columns($1) t))
$body$;
COMMENT ON FUNCTION gavial.uncaptured_columns(oid) IS 'attnums of the generated columns that are not captured';

CREATE OR REPLACE FUNCTION gavial.has_identity(relation oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE c.relreplident
        WHEN 'f' THEN true
        WHEN 'i' THEN EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisreplident)
        WHEN 'd' THEN EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
        ELSE false END
    FROM pg_class c WHERE c.oid = $1
$body$;
COMMENT ON FUNCTION gavial.has_identity(oid) IS 'whether updates and deletes of a published table say which row they mean';

CREATE OR REPLACE FUNCTION gavial.lock_holder(relation oid, mode text) RETURNS int
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(l.pid, 0)
    FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.locktype = 'relation' AND l.relation = $1
      AND l.pid IS DISTINCT FROM pg_backend_pid()
      AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = l.pid AND a.application_name = 'gavial results')
      AND ($2 = 'ACCESS EXCLUSIVE' OR l.mode = 'AccessExclusiveLock'
           OR $2 <> 'ACCESS SHARE' AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock')
           OR $2 NOT IN ('ACCESS SHARE', 'ROW EXCLUSIVE') AND l.mode = 'ShareUpdateExclusiveLock'
           OR $2 = 'EXCLUSIVE' AND l.mode <> 'AccessShareLock')
    -- Behind whoever waits for the lock himself others queue.
    ORDER BY l.granted DESC, l.pid LIMIT 1
$body$;
COMMENT ON FUNCTION gavial.lock_holder(oid, text) IS 'a process that keeps a table from being locked; 0: a prepared transaction';

CREATE OR REPLACE FUNCTION gavial.lock_patience() RETURNS float8
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(nullif((SELECT s.setting FROM pg_settings s WHERE s.name = 'lock_timeout')::float8 / 1000, 0), 60)
$body$;
COMMENT ON FUNCTION gavial.lock_patience() IS 'for how many seconds a statement waits for what others hold: lock_timeout, or a minute';

CREATE OR REPLACE FUNCTION gavial.tell_blocked(what text, holder int, since timestamptz, patience float8, told text) RETURNS text
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    words CONSTANT text := coalesce(gavial.describe_process(holder), 'others');
BEGIN
    IF clock_timestamp() > since + make_interval(secs => patience) THEN
        RAISE lock_not_available USING MESSAGE = format('gave up waiting for %s', words),
            DETAIL = format(what, words), HINT = concat_ws(' ', gavial.how_to_unblock(holder), 'Try again then.');
    ELSIF told IS DISTINCT FROM words THEN
        RAISE NOTICE USING MESSAGE = format('waiting for %s', words), DETAIL = format(what, words),
            HINT = coalesce(gavial.how_to_unblock(holder), '');
    END IF;
    RETURN words;
END
$body$;
COMMENT ON FUNCTION gavial.tell_blocked(text, int, timestamptz, float8, text) IS
    'says for whom a statement waits, unless that is what it was told before, or ends it; what it was told now';

DROP FUNCTION IF EXISTS gavial.take_lock(oid, text, float8, float8);
CREATE OR REPLACE FUNCTION gavial.take_lock(relation oid, mode text, again float8 = 1.5, what text = NULL) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    given CONSTANT text := current_setting('lock_timeout');
    limit_seconds CONSTANT float8 := gavial.lock_patience();
    asked CONSTANT timestamptz := clock_timestamp();
    left_seconds float8;
    told text;
BEGIN
    -- Behind whoever waits for a table that is written others queue: so it is asked for again and again, never for long.
    LOOP
        left_seconds := limit_seconds - extract(epoch FROM clock_timestamp() - asked);
        BEGIN
            PERFORM set_config('lock_timeout', greatest(least(left_seconds, CASE WHEN told IS NULL THEN 1.5 ELSE again END) * 1000, 1)::int::text, true);
            EXECUTE format('LOCK TABLE ONLY %s IN %s MODE', relation::regclass, mode);
            PERFORM set_config('lock_timeout', given, true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            NULL;
        END;
        told := gavial.tell_blocked(coalesce(what, format('Table %s has to be locked, and %%s has a lock on it.', replace(relation::regclass::text, '%', '%%'))),
            gavial.lock_holder(relation, mode), asked, limit_seconds, told);
        PERFORM pg_sleep(0.2);
    END LOOP;
END
$body$;
COMMENT ON FUNCTION gavial.take_lock(oid, text, float8, text) IS
    'locks a table until the transaction ends; says whom that waits for, and gives up after lock_timeout, or a minute';

CREATE OR REPLACE FUNCTION gavial.keep_whole_rows(relation oid) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    changed regclass;
    known boolean;
BEGIN
    UPDATE gavial.sources s SET old_row_by = 'full'
    WHERE s.relation = keep_whole_rows.relation AND s.old_row_by <> 'full';
    -- What partitions send is described by the identity of their root, so that counts as well.
    FOR changed, known IN SELECT c.oid, c.relkind = 'p' OR gavial.has_identity(c.oid) FROM pg_class c
        WHERE c.relreplident <> 'f' AND (c.oid = relation OR c.oid IN (SELECT l FROM gavial.leaves(relation) l))
    LOOP
        INSERT INTO gavial.identities (relation, before, before_index)
        SELECT c.oid, c.relreplident, (SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = c.oid AND i.indisreplident)
        FROM pg_class c WHERE c.oid = changed
        ON CONFLICT ON CONSTRAINT identities_pkey DO UPDATE SET before = excluded.before, before_index = excluded.before_index;
        PERFORM gavial.take_lock(changed, 'ACCESS EXCLUSIVE');
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', changed);
        IF NOT known THEN
            RAISE NOTICE USING MESSAGE = format('table %s has no primary key; its replica identity is now FULL', changed);
        END IF;
    END LOOP;
END
$body$;
REVOKE ALL ON FUNCTION gavial.keep_whole_rows(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.keep_whole_rows(oid) IS 'makes updates and deletes of a table tell the whole old row';

CREATE OR REPLACE FUNCTION gavial.is_published(relation oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT EXISTS (SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
                   WHERE p.pubname = 'gavial' AND r.prrelid = $1)
$body$;
COMMENT ON FUNCTION gavial.is_published(oid) IS 'whether changes of a table are sent to capture under its own name';

CREATE OR REPLACE FUNCTION gavial.tell_generated_columns() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    -- From PostgreSQL 18 on this can be had, and without it nobody can update a table that tells whole rows. A server
    -- that was upgraded has a publication without it.
    IF EXISTS (SELECT FROM pg_publication p WHERE p.pubname = 'gavial' AND to_jsonb(p) ->> 'pubgencols' = 'n') THEN
        ALTER PUBLICATION gavial SET (publish_generated_columns = stored);
    END IF;
END
$body$;
REVOKE ALL ON FUNCTION gavial.tell_generated_columns() FROM PUBLIC;
COMMENT ON FUNCTION gavial.tell_generated_columns() IS 'has changes tell stored generated columns, where the server can';

CREATE OR REPLACE FUNCTION gavial.enrol(relation oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF gavial.is_published(relation) THEN
        -- Who asks again has done something about what stopped it.
        UPDATE gavial.sources s SET state = 'joining', detail = NULL
        WHERE s.relation = enrol.relation AND s.state = 'stopped';
        IF FOUND THEN
            NOTIFY gavial;
        END IF;
        RETURN;
    END IF;
    PERFORM gavial.tell_generated_columns();
    PERFORM gavial.keep_whole_rows(relation);
    PERFORM gavial.take_lock(l, 'SHARE UPDATE EXCLUSIVE') FROM (SELECT relation UNION SELECT gavial.leaves(relation)) AS locked (l);
    EXECUTE format('ALTER PUBLICATION gavial ADD TABLE %s', relation::regclass);
    INSERT INTO gavial.sources (relation, leaves)
    VALUES (relation, ARRAY(SELECT l::regclass FROM gavial.leaves(relation) l ORDER BY l))
    ON CONFLICT ON CONSTRAINT sources_pkey
    DO UPDATE SET state = 'joining', detail = NULL, captured_from = NULL, leaves = excluded.leaves;
    NOTIFY gavial;
END
$body$;
REVOKE ALL ON FUNCTION gavial.enrol(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.enrol(oid) IS 'makes the changes of a table known to capture';

CREATE OR REPLACE FUNCTION gavial.needs_whole_rows(relation oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT EXISTS (
        SELECT FROM gavial.sources s
        WHERE (s.relation = $1 OR $1 = ANY (s.leaves))
          AND gavial.is_published(s.relation) AND NOT gavial.keeps_key(s.relation))
$body$;
REVOKE ALL ON FUNCTION gavial.needs_whole_rows(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.needs_whole_rows(oid) IS
    'whether changes of a table have to tell whole old rows, for itself or for a table of which it is a partition';

CREATE OR REPLACE FUNCTION gavial.give_back(relation oid) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    changed record;
BEGIN
    FOR changed IN SELECT i.* FROM gavial.identities i
        WHERE (i.relation = give_back.relation OR i.relation IN (SELECT l FROM gavial.leaves(give_back.relation) l))
          AND NOT gavial.needs_whole_rows(i.relation)
    LOOP
        PERFORM gavial.take_lock(changed.relation, 'ACCESS EXCLUSIVE');
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', changed.relation, CASE changed.before
            WHEN 'i' THEN coalesce('USING INDEX ' || (SELECT quote_ident(c.relname) FROM pg_class c WHERE c.oid = changed.before_index),
                                   'DEFAULT')
            WHEN 'n' THEN 'NOTHING' ELSE 'DEFAULT' END);
    END LOOP;
    -- While one of them still has to change, the others' rows here tell what it will be.
    DELETE FROM gavial.identities i
    WHERE (i.relation = give_back.relation OR i.relation IN (SELECT l FROM gavial.leaves(give_back.relation) l))
      AND NOT gavial.needs_whole_rows(i.relation);
END
$body$;
REVOKE ALL ON FUNCTION gavial.give_back(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.give_back(oid) IS 'gives a table and its partitions the replica identities that capture took from them';

CREATE OR REPLACE FUNCTION gavial.dismiss() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    idle record;
BEGIN
    INSERT INTO gavial.former (relation)
    SELECT l FROM gavial.sources s CROSS JOIN unnest(s.leaves) l
    WHERE NOT EXISTS (SELECT FROM gavial.reads r WHERE r.relation = s.relation)
    ON CONFLICT DO NOTHING;
    DELETE FROM gavial.sources s WHERE NOT EXISTS (SELECT FROM gavial.reads r WHERE r.relation = s.relation);
    IF FOUND THEN
        NOTIFY gavial;
    END IF;
    FOR idle IN SELECT p.prrelid::regclass AS relation FROM pg_publication_rel p JOIN pg_publication n ON n.oid = p.prpubid
                WHERE n.pubname = 'gavial' AND NOT EXISTS (SELECT FROM gavial.reads r WHERE r.relation = p.prrelid)
    LOOP
        PERFORM gavial.take_lock(l, 'SHARE UPDATE EXCLUSIVE') FROM (SELECT idle.relation UNION SELECT gavial.leaves(idle.relation)) AS locked (l);
        EXECUTE format('ALTER PUBLICATION gavial DROP TABLE %s', idle.relation);
    END LOOP;
    DELETE FROM gavial.identities i WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = i.relation);
    DELETE FROM gavial.former f WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = f.relation);
    -- Also of partitions that have been detached since.
    FOR idle IN SELECT i.relation FROM gavial.identities i JOIN pg_class c ON c.oid = i.relation
                WHERE NOT gavial.needs_whole_rows(i.relation) ORDER BY c.relkind, i.relation
    LOOP
        PERFORM gavial.give_back(idle.relation);
    END LOOP;
END
$body$;
REVOKE ALL ON FUNCTION gavial.dismiss() FROM PUBLIC;
COMMENT ON FUNCTION gavial.dismiss() IS 'gives back what capture changed on tables that no standing query reads any more';
