-- Partitions that come and go under capture. Event triggers belong to superusers.
CREATE OR REPLACE FUNCTION gavial.has_rows(relation regclass) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    found boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM ONLY %s)', relation) INTO found;
    RETURN found;
END
$body$;
REVOKE ALL ON FUNCTION gavial.has_rows(regclass) FROM PUBLIC;
COMMENT ON FUNCTION gavial.has_rows(regclass) IS 'whether there is a row in a table itself';

CREATE OR REPLACE FUNCTION gavial.on_structure() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET row_security = off
AS $body$
DECLARE
    source record;
    leaves_now regclass[];
    leaves_before regclass[] := ARRAY(
        SELECT l FROM gavial.sources s CROSS JOIN unnest(s.leaves) l UNION SELECT f.relation FROM gavial.former f);
BEGIN
    FOR source IN SELECT s.relation, s.leaves, s.files FROM gavial.sources s JOIN pg_class c ON c.oid = s.relation AND c.relkind = 'p' LOOP
        leaves_now := ARRAY(SELECT l::regclass FROM gavial.leaves(source.relation) l ORDER BY l);
        CONTINUE WHEN leaves_now = source.leaves;
        -- The rows of a partition come and go with it, and no change of theirs is sent: then all are copied again. So
        -- they are where the changes of a new one, of before it became a partition, may still come.
        UPDATE gavial.sources s
        SET leaves = leaves_now,
            files = source.files || gavial.files_of(ARRAY(SELECT l FROM unnest(leaves_now) l WHERE l <> ALL (source.leaves))),
            state = CASE WHEN source.leaves <@ leaves_now AND NOT EXISTS (
                SELECT FROM unnest(leaves_now) l
                WHERE l <> ALL (source.leaves) AND (l = ANY (leaves_before) OR gavial.has_rows(l))) THEN s.state ELSE 'joining' END
        WHERE s.relation = source.relation;
        INSERT INTO gavial.former (relation)
        SELECT l FROM unnest(source.leaves) l WHERE l <> ALL (leaves_now) ON CONFLICT DO NOTHING;
        NOTIFY gavial;
    END LOOP;
    -- PostgreSQL refuses updates of a table with a virtual column whose changes tell whole rows.
    FOR source IN SELECT s.relation FROM gavial.sources s
        WHERE gavial.is_published(s.relation) AND EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = s.relation AND a.attgenerated = 'v' AND NOT a.attisdropped)
    LOOP
        EXECUTE format('ALTER PUBLICATION gavial DROP TABLE %s', source.relation);
        UPDATE gavial.sources s SET state = 'stopped', detail = 'it has a virtual generated column' WHERE s.relation = source.relation;
        PERFORM gavial.give_back(source.relation);
    END LOOP;
    PERFORM gavial.keep_whole_rows(s.relation) FROM gavial.sources s
    WHERE gavial.is_published(s.relation) AND NOT gavial.keeps_key(s.relation);
END
$body$;
COMMENT ON FUNCTION gavial.on_structure() IS 'keeps the replica identities of captured tables, and notices partitions that come or go';

DROP EVENT TRIGGER IF EXISTS gavial_structure;
CREATE EVENT TRIGGER gavial_structure ON ddl_command_end
    WHEN TAG IN ('ALTER TABLE', 'CREATE TABLE', 'DROP TABLE', 'DROP SCHEMA', 'DROP OWNED')
    EXECUTE FUNCTION gavial.on_structure();
