-- Notices what becomes of the tables that standing queries read. Event triggers belong to superusers.
CREATE OR REPLACE FUNCTION gavial.on_drop() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    gone record;
    dropped boolean := false;
BEGIN
    FOR gone IN
        DELETE FROM gavial.queries q USING pg_event_trigger_dropped_objects() d
        WHERE d.classid = 'pg_class'::regclass AND d.objsubid = 0 AND d.objid IN (q.view, q.result)
        RETURNING q.view::oid AS view, q.result::oid AS result, d.objid AS dropped
    LOOP
        dropped := true;
        -- PostgreSQL tells of a view to which a drop cascades, and the proxy puts the query's name in its place.
        IF NOT EXISTS (SELECT FROM pg_event_trigger_dropped_objects() d
                       WHERE d.classid = 'pg_class'::regclass AND d.objsubid = 0 AND d.objid = gone.view AND d.normal AND NOT d.original)
        THEN
            RAISE NOTICE USING MESSAGE = format('drop cascades to standing query %s', coalesce(
                (SELECT d.object_identity FROM pg_event_trigger_dropped_objects() d
                 WHERE d.classid = 'pg_class'::regclass AND d.objsubid = 0 AND d.objid = gone.result),
                gone.result::regclass::text));
        END IF;
        IF gone.dropped = gone.view THEN
            IF EXISTS (SELECT FROM pg_class c WHERE c.oid = gone.result) THEN
                EXECUTE format('DROP TABLE %s CASCADE', gone.result::regclass);
            END IF;
        ELSIF EXISTS (SELECT FROM pg_class c WHERE c.oid = gone.view) THEN
            EXECUTE format('DROP VIEW %s', gone.view::regclass);
        END IF;
    END LOOP;
    UPDATE gavial.queries q
    SET status = 'error', status_sqlstate = '42809', status_detail = 'the trigger gavial_guard of its table was dropped'
    FROM pg_event_trigger_dropped_objects() d
    WHERE d.object_type = 'trigger' AND d.address_names[3] = 'gavial_guard' AND q.status <> 'error'
      AND NOT gavial.is_whole(q.view, q.result);
    -- Whoever has the turn may wait for what is dropped here, so this does not wait for it; a later change dismisses.
    IF dropped AND gavial.has_turn() THEN
        PERFORM gavial.dismiss();
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.on_drop() IS 'a standing query goes with its view, its result or a table it reads';

CREATE OR REPLACE FUNCTION gavial.touched() RETURNS SETOF uuid
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT q.id
    FROM gavial.queries q
    WHERE EXISTS (
        SELECT FROM pg_event_trigger_ddl_commands() c
        WHERE c.command_tag NOT IN ('ALTER TABLE', 'CREATE TABLE', 'CREATE VIEW')
           OR c.command_tag = 'CREATE VIEW' AND EXISTS (SELECT FROM gavial.layers(q.view) l WHERE l.layer = c.objid)
           OR c.objid = q.result
           OR EXISTS (SELECT FROM gavial.reads r WHERE r.query_id = q.id AND (r.relation = c.objid
                      OR r.relation IN (SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = c.objid))))
$body$;
COMMENT ON FUNCTION gavial.touched() IS 'the standing queries that the command just run may concern; for event triggers';

CREATE OR REPLACE FUNCTION gavial.has_turn() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    LOCK TABLE gavial.turn IN EXCLUSIVE MODE NOWAIT;
    UPDATE gavial.turn SET number = number + 1;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$body$;
REVOKE ALL ON FUNCTION gavial.has_turn() FROM PUBLIC;
COMMENT ON FUNCTION gavial.has_turn() IS 'takes the turn if nobody else has it';

CREATE OR REPLACE FUNCTION gavial.on_change() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    touched uuid[] := ARRAY(SELECT gavial.touched());
    given record;
BEGIN
    FOR given IN SELECT q.view, r.relowner::regrole AS owner
        FROM gavial.queries q JOIN pg_class r ON r.oid = q.result JOIN pg_class v ON v.oid = q.view
        WHERE q.id = ANY (touched) AND r.relowner <> v.relowner
    LOOP
        EXECUTE format('ALTER VIEW %s OWNER TO %s', given.view, given.owner);
    END LOOP;
    FOR given IN SELECT q.view, gavial.view_name(n.nspname, r.relname) AS name
        FROM gavial.queries q JOIN pg_class r ON r.oid = q.result JOIN pg_namespace n ON n.oid = r.relnamespace
        JOIN pg_class v ON v.oid = q.view
        WHERE q.id = ANY (touched) AND v.relname <> gavial.view_name(n.nspname, r.relname)
    LOOP
        EXECUTE format('ALTER VIEW %s RENAME TO %I', given.view, given.name);
    END LOOP;
    UPDATE gavial.queries q
    SET status = 'error', status_sqlstate = '0A000', status_detail = p.detail, status_of_values = false
    FROM (
        SELECT q.id, min(format(f.message, gavial.piece(b.rule, b.name))) AS detail
        FROM gavial.queries q CROSS JOIN LATERAL gavial.problems(q.view) b JOIN gavial.refusals f USING (rule)
        WHERE q.id = ANY (touched)
        GROUP BY q.id
    ) p
    WHERE q.id = p.id AND q.status <> 'error';
    -- What stood in its way is gone.
    UPDATE gavial.queries q
    SET status = 'initialising', status_sqlstate = NULL, status_detail = NULL
    WHERE q.id = ANY (touched) AND q.status = 'error' AND q.status_sqlstate = '0A000' AND NOT q.status_of_values
      AND NOT EXISTS (SELECT FROM gavial.problems(q.view));
    IF FOUND THEN
        NOTIFY gavial;
    END IF;
    -- What was in the table meanwhile is not known: it is filled again from scratch.
    UPDATE gavial.queries q
    SET status = 'initialising', status_sqlstate = NULL, status_detail = NULL
    WHERE q.id = ANY (touched) AND q.status = 'error' AND q.status_sqlstate = '42809' AND gavial.is_whole(q.view, q.result);
    UPDATE gavial.queries q
    SET status = 'error', status_sqlstate = '42809',
        status_detail = CASE WHEN gavial.has_guard(q.result) THEN 'its table no longer has the columns of the query'
            ELSE 'the trigger gavial_guard of its table is disabled or gone' END || '; when that is undone, its result is computed from scratch'
    WHERE q.id = ANY (touched) AND q.status <> 'error' AND NOT gavial.is_whole(q.view, q.result);
    UPDATE gavial.queries q
    SET status = 'error', status_sqlstate = '55000', status_detail = 'a view that it reads was replaced; RESUME takes the new one'
    WHERE TG_TAG = 'CREATE VIEW' AND q.id = ANY (touched) AND q.status <> 'error';
    UPDATE gavial.queries q
    SET status = 'suspended', status_sqlstate = '42501',
        status_detail = format('%s may no longer read %s', pg_get_userbyid(l.reader), l.relation::regclass)
    FROM gavial.queries o CROSS JOIN LATERAL gavial.unreadable(o.view) l
    WHERE q.id = o.id AND q.id = ANY (touched) AND q.status NOT IN ('suspended', 'error');
END
$body$;
COMMENT ON FUNCTION gavial.on_change() IS 'a standing query that cannot be maintained any more says so';

DROP EVENT TRIGGER IF EXISTS gavial_drop;
CREATE EVENT TRIGGER gavial_drop ON sql_drop EXECUTE FUNCTION gavial.on_drop();
DROP EVENT TRIGGER IF EXISTS gavial_change;
CREATE EVENT TRIGGER gavial_change ON ddl_command_end
    WHEN TAG IN ('ALTER TABLE', 'ALTER SCHEMA', 'CREATE VIEW', 'REVOKE', 'CREATE POLICY', 'ALTER POLICY', 'CREATE TABLE')
    EXECUTE FUNCTION gavial.on_change();
