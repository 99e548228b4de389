-- What writes the catalog with its owner's rights. Nobody may call it: a statement inserts a request, a trigger with
-- the rights of whoever inserts it checks what that role owns (a function could not tell: inside one that runs with
-- its owner's rights the caller's role is unknown), and another trigger, with its owner's rights, does it.
CREATE OR REPLACE FUNCTION gavial.check_requester() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF (SELECT count(*) FROM pg_class c WHERE c.oid IN (NEW.result, NEW.view) AND pg_has_role(c.relowner, 'USAGE'))
        <> num_nonnulls(NEW.result, NEW.view) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of %s %s', CASE NEW.kind WHEN 'old_row' THEN 'table' ELSE 'standing query' END,
                             NEW.result::regclass);
    END IF;
    RETURN NEW;
END
$body$;
COMMENT ON FUNCTION gavial.check_requester() IS 'refuses a current role that may not act as the owner of what a request concerns';

CREATE OR REPLACE FUNCTION gavial.do_request() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    CASE NEW.kind
        WHEN 'register' THEN PERFORM gavial.register(NEW.view, NEW.result, NEW.arguments);
        WHEN 'forget' THEN PERFORM gavial.forget(NEW.result);
        WHEN 'options' THEN PERFORM gavial.change_options(NEW.result, NEW.arguments);
        WHEN 'empty' THEN UPDATE gavial.queries q SET position = NULL, position_time = NULL WHERE q.result = NEW.result;
        WHEN 'suspend' THEN PERFORM gavial.suspend(NEW.result);
        WHEN 'resume' THEN PERFORM gavial.resume(NEW.result);
        WHEN 'old_row' THEN PERFORM gavial.choose_old_row(NEW.result, NEW.arguments ->> 'how');
        WHEN 'refresh' THEN PERFORM gavial.ask(NEW.kind, NEW.result, (NEW.arguments ->> 'run')::uuid, pg_backend_pid());
    END CASE;
    RETURN NULL;
END
$body$;
COMMENT ON FUNCTION gavial.do_request() IS 'does what a request asks for';

CREATE OR REPLACE TRIGGER check_requester BEFORE INSERT ON gavial.requests
    FOR EACH ROW EXECUTE FUNCTION gavial.check_requester();
CREATE OR REPLACE TRIGGER do_request BEFORE INSERT ON gavial.requests
    FOR EACH ROW EXECUTE FUNCTION gavial.do_request();

CREATE OR REPLACE FUNCTION gavial.request(
    kind text, result oid, view oid = NULL, arguments jsonb = NULL
) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT format('INSERT INTO gavial.requests (kind, result, view, arguments) VALUES (%L, %L, %L, %L)', kind, result, view, arguments)
$body$;
COMMENT ON FUNCTION gavial.request(text, oid, oid, jsonb) IS 'the command that hands a request over';

CREATE OR REPLACE FUNCTION gavial.take_turn(tag text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE read_only_sql_transaction USING MESSAGE = format('cannot execute %s in a read-only transaction', tag);
    END IF;
    -- The lock makes this session notice which tables were made or dropped while it waited; the row, whether its
    -- snapshot is older than that.
    PERFORM gavial.take_lock('gavial.turn'::regclass, 'EXCLUSIVE', 10,
        'Standing queries are created, changed and dropped one after the other, and %s has done so in a transaction that is still open.');
    UPDATE gavial.turn SET number = number + 1;
END
$body$;
COMMENT ON FUNCTION gavial.take_turn(text) IS
    'waits until no other transaction is changing standing queries; an older snapshot than the last change is a serialization failure';

CREATE OR REPLACE FUNCTION gavial.unreadable(view oid) RETURNS TABLE (relation oid, reader oid)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    RETURN QUERY SELECT i.relation, i.reader FROM gavial.inputs($1) i
    WHERE NOT has_table_privilege(i.reader, i.relation, 'SELECT')
      AND NOT has_any_column_privilege(i.reader, i.relation, 'SELECT');
END
$body$;
COMMENT ON FUNCTION gavial.unreadable(oid) IS 'the tables under a view that the role whose rights read them may not read';

CREATE OR REPLACE FUNCTION gavial.check_readable(view oid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    hidden record;
BEGIN
    SELECT c.relname, pg_get_userbyid(u.reader) AS reader INTO hidden
    FROM gavial.unreadable(view) u JOIN pg_class c ON c.oid = u.relation ORDER BY c.relname LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('permission denied for table %s', hidden.relname),
            DETAIL = format('It is read with the rights of %s.', hidden.reader);
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.check_readable(oid) IS 'refuses a view with a table that may not be read';

CREATE OR REPLACE FUNCTION gavial.ungranted(relation oid, login name) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT string_agg(DISTINCT g.command, '; ')
    FROM pg_roles r, gavial.leaves($1) l (oid) JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL (VALUES
        (format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, r.rolname), NOT has_schema_privilege(r.oid, n.oid, 'USAGE')),
        (format('GRANT SELECT ON %I.%I TO %I', n.nspname, c.relname, r.rolname), EXISTS (
            SELECT FROM gavial.captured_columns(c.oid) a WHERE NOT has_column_privilege(r.oid, c.oid, a.attnum, 'SELECT'))),
        (format('ALTER ROLE %I BYPASSRLS', r.rolname), c.relrowsecurity AND NOT (r.rolsuper OR r.rolbypassrls)
            AND (c.relforcerowsecurity OR NOT pg_has_role(r.oid, c.relowner, 'USAGE')))
    ) g (command, is_missing)
    WHERE r.rolname = $2 AND g.is_missing
$body$;
COMMENT ON FUNCTION gavial.ungranted(oid, name) IS 'the commands that let a role copy a table; null: it may';

CREATE OR REPLACE FUNCTION gavial.check_login(view oid, result oid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    capturer name := (SELECT c.login FROM gavial.capture c JOIN pg_roles r ON r.rolname = c.login);
    hidden record;
BEGIN
    SELECT r.rolname AS owner, r.rolsuper INTO hidden FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
    WHERE c.oid = result AND capturer IS NOT NULL AND NOT pg_has_role(capturer, c.relowner, 'USAGE')
      AND NOT (has_table_privilege(capturer, c.oid, 'SELECT') AND has_table_privilege(capturer, c.oid, 'INSERT')
               AND has_table_privilege(capturer, c.oid, 'DELETE'));
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('role "%s" may not write the results of standing queries of role "%s"', capturer, hidden.owner),
            -- Whoever is a member of a superuser may do everything.
            HINT = CASE WHEN hidden.rolsuper THEN format('Run: GRANT pg_read_all_data, pg_write_all_data TO %I', capturer)
                        ELSE format('Run: GRANT %I TO %I', hidden.owner, capturer) END;
    END IF;
    SELECT c.relname, u.commands INTO hidden
    FROM (SELECT DISTINCT i.relation FROM gavial.inputs(view) i) i
    CROSS JOIN LATERAL gavial.ungranted(i.relation, capturer) u (commands) JOIN pg_class c ON c.oid = i.relation
    WHERE u.commands IS NOT NULL ORDER BY c.relname LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('permission denied for table %s', hidden.relname),
            DETAIL = format('Gavial copies it as the role "%s".', capturer),
            HINT = format('Run: %s', hidden.commands);
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.check_login(oid, oid) IS 'refuses what the role that captures may not read or write';

CREATE OR REPLACE FUNCTION gavial.register(view oid, result oid, arguments jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    query uuid;
BEGIN
    IF (SELECT count(*) FROM pg_class c WHERE c.relpersistence = 'p' AND (c.oid, c.relkind) IN ((view, 'v'), (result, 'r'))) <> 2 THEN
        RAISE wrong_object_type USING MESSAGE = 'a standing query is a view and a table that are not temporary';
    END IF;
    PERFORM gavial.check_query(view, NULL), gavial.check_readable(view), gavial.check_login(view, result);
    -- While no query is known to read them, what this changes on its tables is looked at by nobody.
    PERFORM gavial.enrol(i.relation) FROM (SELECT DISTINCT relation FROM gavial.inputs(register.view) ORDER BY relation) i;
    PERFORM gavial.copy_outdated(register.view);
    INSERT INTO gavial.queries AS q (view, result, query_text, settings, options, columns_due, status)
    VALUES (register.view, register.result, arguments ->> 'query_text', arguments -> 'settings', arguments -> 'options',
            gavial.columns_of(register.view) <> gavial.columns_of(register.result), 'initialising')
    ON CONFLICT ON CONSTRAINT queries_result_key DO UPDATE
    SET view = excluded.view, query_text = excluded.query_text, settings = excluded.settings, options = excluded.options,
        columns_due = excluded.columns_due, status = 'initialising', status_sqlstate = NULL, status_detail = NULL
    RETURNING id INTO query;
    DELETE FROM gavial.reads WHERE query_id = query;
    INSERT INTO gavial.reads SELECT DISTINCT query, i.relation FROM gavial.inputs(register.view) i;
    PERFORM gavial.dismiss();
END
$body$;
COMMENT ON FUNCTION gavial.register(oid, oid, jsonb) IS 'enters a standing query, or what replaces it';

CREATE OR REPLACE FUNCTION gavial.forget(result oid) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    DELETE FROM gavial.queries q WHERE q.result = forget.result;
    PERFORM gavial.dismiss();
END
$body$;
COMMENT ON FUNCTION gavial.forget(oid) IS 'takes a standing query out of the catalog';

CREATE OR REPLACE FUNCTION gavial.change_options(result oid, change jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    after jsonb;
BEGIN
    SELECT (q.options - ARRAY(SELECT jsonb_array_elements_text(change -> 'reset'))) || (change -> 'set') INTO after
    FROM gavial.queries q WHERE q.result = change_options.result FOR UPDATE;
    IF after ? 'FINAL_WORK' AND after ? 'LATENCY_GOAL' THEN
        PERFORM gavial.refuse('22023', 'FINAL_WORK and LATENCY_GOAL exclude each other', NULL, 'RESET the other one first.');
    END IF;
    UPDATE gavial.queries q SET options = after WHERE q.result = change_options.result;
END
$body$;
COMMENT ON FUNCTION gavial.change_options(oid, jsonb) IS 'ALTER STANDING QUERY … SET and RESET';

CREATE OR REPLACE FUNCTION gavial.suspend(result oid) RETURNS void
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $body$
    UPDATE gavial.queries q SET status = 'suspended', status_sqlstate = NULL, status_detail = NULL WHERE q.result = $1
$body$;
COMMENT ON FUNCTION gavial.suspend(oid) IS 'ALTER STANDING QUERY … SUSPEND';

CREATE OR REPLACE FUNCTION gavial.resume(result oid) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    PERFORM gavial.check_query(q.view, NULL), gavial.check_readable(q.view), gavial.check_login(q.view, q.result),
        gavial.check_answer(q.view, q.result)
    FROM gavial.queries q WHERE q.result = resume.result;
    PERFORM gavial.enrol(r.relation)
    FROM gavial.queries q JOIN gavial.reads r ON r.query_id = q.id WHERE q.result = resume.result ORDER BY r.relation;
    PERFORM gavial.copy_outdated(q.view) FROM gavial.queries q WHERE q.result = resume.result;
    -- In a copy of the database all are suspended until each is resumed.
    UPDATE gavial.queries q SET (status, status_sqlstate, status_detail) =
        (SELECT s.status, s.status_sqlstate, s.status_detail FROM gavial.standing_queries s WHERE s.id = q.id)
    WHERE gavial.is_elsewhere();
    -- The files are the other database's, in a warehouse that this one has no part in.
    DELETE FROM gavial.offsets WHERE gavial.is_elsewhere();
    DELETE FROM gavial.batches WHERE gavial.is_elsewhere();
    UPDATE gavial.installation i
    SET system_identifier = c.system_identifier, database = d.oid, id = gen_random_uuid()
    FROM pg_control_system() c, pg_database d
    WHERE d.datname = current_database() AND gavial.is_elsewhere();
    UPDATE gavial.queries q SET status = 'initialising', status_sqlstate = NULL, status_detail = NULL
    WHERE q.result = resume.result;
END
$body$;
COMMENT ON FUNCTION gavial.resume(oid) IS 'ALTER STANDING QUERY … RESUME';

REVOKE ALL ON FUNCTION gavial.check_requester(), gavial.do_request(), gavial.register(oid, oid, jsonb), gavial.forget(oid),
    gavial.change_options(oid, jsonb), gavial.suspend(oid), gavial.resume(oid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION gavial.guard() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF current_setting('gavial.publishing', true) IS DISTINCT FROM TG_RELID::text
        OR NOT has_table_privilege('gavial.queries', 'UPDATE') THEN
        RAISE wrong_object_type USING
            MESSAGE = format('cannot change the rows of standing query "%s"', TG_TABLE_NAME),
            HINT = 'Change the tables that it reads; its result follows when its trigger fires.';
    END IF;
    RETURN NULL;
END
$body$;
COMMENT ON FUNCTION gavial.guard() IS 'lets only Gavial write a result';

CREATE OR REPLACE FUNCTION gavial.columns_of(relation oid) RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ORDER BY a.attname)
    FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
$body$;
COMMENT ON FUNCTION gavial.columns_of(oid) IS 'names and types of a relation''s columns';

CREATE OR REPLACE FUNCTION gavial.has_guard(result oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT EXISTS (SELECT FROM pg_trigger t
                   WHERE t.tgrelid = result AND t.tgfoid = 'gavial.guard()'::regprocedure AND t.tgenabled IN ('O', 'A')
                     AND t.tgtype = 62)
$body$;
COMMENT ON FUNCTION gavial.has_guard(oid) IS 'whether the trigger that keeps others from writing a result is there and on';

CREATE OR REPLACE FUNCTION gavial.is_whole(view oid, result oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT (gavial.columns_of(view) = gavial.columns_of(result)
            OR gavial.columns_of(result) <@ gavial.columns_of(view)
               AND EXISTS (SELECT FROM gavial.queries q WHERE q.result::oid = $2 AND q.columns_due))
       AND gavial.has_guard(result)
$body$;
COMMENT ON FUNCTION gavial.is_whole(oid, oid) IS
    'whether a result still has the columns of its query, but for those that come with its next rows, and its guard';
