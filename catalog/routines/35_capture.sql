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
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', changed);
        IF NOT known THEN
            RAISE NOTICE USING MESSAGE = format('table %s has no primary key; its replica identity is now FULL', changed);
        END IF;
    END LOOP;
END
$body$;
REVOKE ALL ON FUNCTION gavial.keep_whole_rows(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.keep_whole_rows(oid) IS 'makes updates and deletes of a table tell the whole old row';

CREATE OR REPLACE FUNCTION gavial.enrol(relation oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '2s'
AS $body$
BEGIN
    IF EXISTS (SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
               WHERE p.pubname = 'gavial' AND r.prrelid = relation) THEN
        RETURN;
    END IF;
    PERFORM gavial.keep_whole_rows(relation);
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

CREATE OR REPLACE FUNCTION gavial.give_back(relation oid) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    changed record;
BEGIN
    FOR changed IN SELECT i.* FROM gavial.identities i
        WHERE i.relation = give_back.relation OR i.relation IN (SELECT l FROM gavial.leaves(give_back.relation) l)
    LOOP
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', changed.relation, CASE changed.before
            WHEN 'i' THEN coalesce('USING INDEX ' || (SELECT quote_ident(c.relname) FROM pg_class c WHERE c.oid = changed.before_index),
                                   'DEFAULT')
            WHEN 'n' THEN 'NOTHING' ELSE 'DEFAULT' END);
    END LOOP;
    -- While one of them still has to change, the others' rows here tell what it will be.
    DELETE FROM gavial.identities i
    WHERE i.relation = give_back.relation OR i.relation IN (SELECT l FROM gavial.leaves(give_back.relation) l);
END
$body$;
REVOKE ALL ON FUNCTION gavial.give_back(oid) FROM PUBLIC;
COMMENT ON FUNCTION gavial.give_back(oid) IS 'gives a table and its partitions the replica identities that capture took from them';

CREATE OR REPLACE FUNCTION gavial.dismiss() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '2s'
AS $body$
DECLARE
    idle record;
BEGIN
    DELETE FROM gavial.sources s WHERE NOT EXISTS (SELECT FROM gavial.reads r WHERE r.relation = s.relation);
    IF FOUND THEN
        NOTIFY gavial;
    END IF;
    FOR idle IN SELECT p.prrelid::regclass AS relation FROM pg_publication_rel p JOIN pg_publication n ON n.oid = p.prpubid
                WHERE n.pubname = 'gavial' AND NOT EXISTS (SELECT FROM gavial.reads r WHERE r.relation = p.prrelid)
    LOOP
        EXECUTE format('ALTER PUBLICATION gavial DROP TABLE %s', idle.relation);
        PERFORM gavial.give_back(idle.relation);
    END LOOP;
    DELETE FROM gavial.identities i WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = i.relation);
END
$body$;
REVOKE ALL ON FUNCTION gavial.dismiss() FROM PUBLIC;
COMMENT ON FUNCTION gavial.dismiss() IS 'gives back what capture changed on tables that no standing query reads any more';
