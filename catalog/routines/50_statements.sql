-- Statements of ours, as the proxy sends them. `perform` runs with the caller's rights and search_path and has no
-- operator in it; what it runs is composed, one step after the other, by functions with a pinned search_path.
CREATE OR REPLACE FUNCTION gavial.settings_now(path text) RETURNS jsonb
    LANGUAGE sql STABLE
AS $body$
    SELECT pg_catalog.jsonb_object_agg(s.name, CASE s.name WHEN 'search_path' THEN path ELSE s.setting END)
    FROM pg_catalog.pg_settings s
    WHERE s.name IN ('TimeZone', 'DateStyle', 'IntervalStyle', 'extra_float_digits', 'search_path', 'bytea_output',
        'lc_numeric', 'lc_monetary', 'lc_time', 'xmlbinary', 'default_text_search_config')
$body$;
COMMENT ON FUNCTION gavial.settings_now(text) IS 'the session''s settings on which the meaning of a query may depend';

CREATE OR REPLACE FUNCTION gavial.view_name(schema text, name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- PostgreSQL names it where a table or column that the query reads cannot be dropped or changed.
    SELECT CASE WHEN octet_length(schema || '.' || name) <= 48 THEN 'standing query ' || schema || '.' || name
           ELSE 'standing query ' || left(name, 3) || '.' || md5(schema || '.' || name) END
$body$;
COMMENT ON FUNCTION gavial.view_name(text, text) IS 'the name of the hidden view of a standing query';

CREATE OR REPLACE FUNCTION gavial.known(target regclass, request jsonb) RETURNS regclass
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    found regclass;
BEGIN
    SELECT q.view INTO found FROM gavial.queries q WHERE q.result = target;
    IF found IS NOT NULL THEN
        RETURN found;
    END IF;
    IF target IS NOT NULL THEN
        PERFORM gavial.refuse('42809', format('%s is not a standing query', request ->> 'as_written'), NULL,
            'SHOW STANDING QUERIES lists the standing queries of this database.',
            (request ->> 'place')::int);
    ELSIF coalesce((request ->> 'if_exists')::boolean, false) THEN
        RAISE NOTICE USING ERRCODE = '00000',
            MESSAGE = format('standing query %s does not exist, skipping', request ->> 'as_written');
    ELSE
        PERFORM gavial.refuse('42704', format('standing query %s does not exist', request ->> 'as_written'), NULL,
            'SHOW STANDING QUERIES lists the standing queries of this database.', (request ->> 'place')::int);
    END IF;
    RETURN NULL;
END
$body$;
COMMENT ON FUNCTION gavial.known(regclass, jsonb) IS 'the hidden view of a standing query; an error, or null where IF EXISTS allows';

CREATE OR REPLACE FUNCTION gavial.may_change(result regclass) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF NOT (SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = result) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of standing query %s', (SELECT relname FROM pg_class WHERE oid = result));
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.may_change(regclass) IS 'refuses a current role that does not own a standing query';

CREATE OR REPLACE FUNCTION gavial.tell_without_effect(options jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF coalesce(jsonb_array_length(options), 0) > 0 THEN
        RAISE NOTICE USING MESSAGE = (
            SELECT CASE count(*) WHEN 1 THEN format('option %s has no effect yet', min(o))
                                 ELSE format('options %s have no effect yet', string_agg(o, ', ' ORDER BY place)) END
            FROM jsonb_array_elements_text(options) WITH ORDINALITY AS o (o, place));
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.tell_without_effect(jsonb) IS 'a notice of options that this version accepts and makes no use of';

CREATE OR REPLACE FUNCTION gavial.rows_until_then(query uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN s.position IS NULL THEN 'Until then its table has no rows.'
           ELSE 'Until then its table has the result of the query that was replaced.' END
    FROM gavial.standing_queries s WHERE s.id = query
$body$;
COMMENT ON FUNCTION gavial.rows_until_then(uuid) IS 'what readers see of a query whose result is not computed yet';

CREATE OR REPLACE FUNCTION gavial.how_to_see(name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT format('SHOW STANDING QUERIES tells when it is computed; REFRESH STANDING QUERY %s waits for it.', name)
$body$;
COMMENT ON FUNCTION gavial.how_to_see(text) IS 'how to see whether the result of a query is computed';

CREATE OR REPLACE FUNCTION gavial.tell_not_computed(result regclass) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    standing gavial.standing_queries;
    name text;
BEGIN
    SELECT * INTO standing FROM gavial.standing_queries s WHERE s.table_oid = result AND s.status = 'initialising';
    IF FOUND THEN
        name := concat_ws('.', quote_ident(standing.schema_name), quote_ident(standing.name));
        RAISE NOTICE USING MESSAGE = format('the result of standing query %s is not computed yet', name),
            DETAIL = 'It is computed after COMMIT. ' || gavial.rows_until_then(standing.id), HINT = gavial.how_to_see(name);
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.tell_not_computed(regclass) IS 'what CREATE says where it does not wait';

CREATE OR REPLACE FUNCTION gavial.create_step(step int, request jsonb, target regclass, schema text, path text)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    name text := request ->> 'name';
    view text;
    result text;
BEGIN
    schema := coalesce(request ->> 'schema', schema);
    IF schema IS NULL THEN
        RAISE invalid_schema_name USING MESSAGE = 'no schema has been selected to create in';
    ELSIF schema ~ '^pg_temp(_|$)' THEN
        PERFORM gavial.refuse('42P16', 'cannot create a standing query in a temporary schema', NULL, NULL, (request ->> 'place')::int);
    END IF;
    view := format('gavial_views.%I', gavial.view_name(schema, name));
    result := format('%I.%I', schema, name);
    CASE step
        WHEN 1 THEN
            RETURN gavial.create_view_command(request, to_regclass(result), view);
        WHEN 2 THEN
            PERFORM gavial.check_query(view::regclass, request -> 'places');
            IF to_regclass(result) IS NULL THEN
                RETURN format('CREATE TABLE %s AS SELECT * FROM %s WITH NO DATA', result, view);
            END IF;
            RETURN gavial.widen_command(result::regclass, view::regclass, coalesce((request ->> 'waits')::boolean, false));
        WHEN 3 THEN
            -- PostgreSQL checks here what the caller may read.
            RETURN format('EXPLAIN SELECT * FROM %s', view);
        WHEN 4 THEN
            PERFORM gavial.await_verdict(view::regclass, request || '{"kept": true}');
            IF EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = result::regclass AND t.tgname = 'gavial_guard') THEN
                RETURN '';
            END IF;
            RETURN format('CREATE TRIGGER gavial_guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
                'FOR EACH STATEMENT EXECUTE FUNCTION gavial.guard()', result);
        WHEN 5 THEN
            PERFORM gavial.tell_without_effect(request -> 'without_effect');
            RETURN gavial.request('register', result::regclass, view::regclass, jsonb_build_object(
                'query_text', request -> 'query', 'settings', gavial.settings_now(path), 'options', request -> 'options'));
        ELSE
            IF NOT coalesce((request ->> 'waits')::boolean, false) THEN
                PERFORM gavial.tell_not_computed(result::regclass);
            END IF;
            RETURN NULL;
    END CASE;
END
$body$;
COMMENT ON FUNCTION gavial.create_step(int, jsonb, regclass, text, text) IS 'the commands of CREATE STANDING QUERY, one by one';

CREATE OR REPLACE FUNCTION gavial.create_view_command(request jsonb, existing regclass, view text) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    verb text := 'CREATE VIEW';
    columns text;
BEGIN
    IF existing IS NOT NULL THEN
        IF (request ->> 'if_not_exists')::boolean THEN
            RAISE NOTICE USING ERRCODE = '42P07',
                MESSAGE = format('relation "%s" already exists, skipping', request ->> 'name');
            RETURN NULL;
        ELSIF NOT (request ->> 'replace')::boolean THEN
            PERFORM gavial.refuse('42P07', format('relation "%s" already exists', request ->> 'name'), NULL,
                CASE WHEN EXISTS (SELECT FROM gavial.queries q WHERE q.result = existing)
                     THEN 'CREATE OR REPLACE STANDING QUERY replaces a standing query.' END, (request ->> 'place')::int);
        END IF;
        PERFORM gavial.known(existing, request);
        PERFORM gavial.may_change(existing);
        verb := 'CREATE OR REPLACE VIEW';
    END IF;
    SELECT '(' || string_agg(quote_ident(c), ', ') || ')' INTO columns
    FROM jsonb_array_elements_text(request -> 'columns') c;
    -- The comment says where the SELECT began in the client's text; errors inside it are moved there by the proxy.
    RETURN format('%s %s %s AS /*gavial:%s*/ %s', verb, view, columns, request ->> 'query_place', request ->> 'query');
END
$body$;
COMMENT ON FUNCTION gavial.create_view_command(jsonb, regclass, text) IS 'the command that makes PostgreSQL analyse the SELECT';

CREATE OR REPLACE FUNCTION gavial.add_columns_command(result regclass, view regclass) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(format('ALTER TABLE %s ', result) || string_agg(
        format('ADD COLUMN %I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum), '')
    FROM pg_attribute a
    WHERE a.attrelid = view AND a.attnum > 0
      AND NOT EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = result AND o.attname = a.attname AND o.attnum > 0)
$body$;
COMMENT ON FUNCTION gavial.add_columns_command(regclass, regclass) IS 'makes a result fit a replaced query that has more columns';

CREATE OR REPLACE FUNCTION gavial.brings_columns(result regclass) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT EXISTS (
        SELECT FROM gavial.capture c JOIN pg_roles r ON r.rolname = c.login JOIN pg_class t ON t.oid = result
        WHERE pg_has_role(r.oid, t.relowner, 'USAGE'))
$body$;
COMMENT ON FUNCTION gavial.brings_columns(regclass) IS 'whether the coordinator may add columns to a result when it publishes';

CREATE OR REPLACE FUNCTION gavial.widen_command(result regclass, view regclass, waits boolean) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    command CONSTANT text := gavial.add_columns_command(result, view);
BEGIN
    IF command = '' OR EXISTS (SELECT FROM gavial.standing_queries s WHERE s.table_oid = result AND s.position IS NULL) THEN
        RETURN command;
    END IF;
    -- Old rows have no value for a new column. Where the statement waits, columns and rows come in one moment. Where it does
    -- not, what follows in the transaction may name the columns: they come at once, and the rows of the replaced query go.
    IF waits AND gavial.brings_columns(result) THEN
        RETURN '';
    END IF;
    PERFORM gavial.take_lock(result, 'ACCESS EXCLUSIVE');
    RETURN format('ALTER TABLE %1$s DISABLE TRIGGER gavial_guard; DELETE FROM %1$s; %2$s; '
        'ALTER TABLE %1$s ENABLE TRIGGER gavial_guard; %3$s', result, command, gavial.request('empty', result));
END
$body$;
COMMENT ON FUNCTION gavial.widen_command(regclass, regclass, boolean) IS
    'makes a result fit a replaced query that has more columns, unless they come with the new rows';

CREATE OR REPLACE FUNCTION gavial.alter_step(step int, request jsonb, target regclass) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    view regclass := gavial.known(target, request);
    change jsonb := request -> 'change';
    schema name;
    name name;
BEGIN
    IF view IS NULL OR step > 3 THEN
        RETURN NULL;
    END IF;
    PERFORM gavial.may_change(target);
    SELECT n.nspname, c.relname INTO schema, name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = target;
    IF step = 1 THEN
        PERFORM gavial.tell_without_effect(change -> 'without_effect');
        IF change ->> 'kind' IN ('rename', 'schema', 'owner') THEN
            PERFORM gavial.take_lock(target, 'ACCESS EXCLUSIVE');
        END IF;
    END IF;
    IF change ->> 'kind' = 'resume' AND step = 2 THEN
        PERFORM gavial.await_verdict(view, '{"kept": true}');
    END IF;
    RETURN CASE change ->> 'kind'
        WHEN 'rename' THEN CASE step
            WHEN 1 THEN format('ALTER VIEW %s RENAME TO %I', view, gavial.view_name(schema, change ->> 'to'))
            WHEN 2 THEN format('ALTER TABLE %s RENAME TO %I', target, change ->> 'to') END
        WHEN 'schema' THEN CASE step
            WHEN 1 THEN format('ALTER VIEW %s RENAME TO %I', view, gavial.view_name(change ->> 'to', name))
            WHEN 2 THEN format('ALTER TABLE %s SET SCHEMA %I', target, change ->> 'to') END
        WHEN 'owner' THEN CASE step
            WHEN 1 THEN format('ALTER TABLE %s OWNER TO %s', target, gavial.role_text(change))
            WHEN 2 THEN format('ALTER VIEW %s OWNER TO %s', view, gavial.role_text(change))
            WHEN 3 THEN format('SELECT gavial.check_query(%s, NULL), gavial.check_readable(%s)', view::oid, view::oid) END
        WHEN 'options' THEN CASE step WHEN 1 THEN gavial.request('options', target, NULL, change) END
        ELSE CASE step WHEN 1 THEN gavial.request(change ->> 'kind', target) END
    END;
END
$body$;
COMMENT ON FUNCTION gavial.alter_step(int, jsonb, regclass) IS 'the commands of ALTER STANDING QUERY, one by one';

CREATE OR REPLACE FUNCTION gavial.check_answer(view oid, result oid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF NOT gavial.is_whole(view, result) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the table %s no longer fits its standing query', result::regclass),
            DETAIL = CASE WHEN gavial.has_guard(result) THEN 'It no longer has the columns of the query.'
                ELSE 'The trigger gavial_guard is disabled or gone.' END,
            HINT = CASE WHEN gavial.has_guard(result) THEN 'Give it the columns of the query again, or DROP it.'
                ELSE format('ALTER TABLE %s ENABLE TRIGGER gavial_guard; if it is gone, DROP the query and create it again.', result::regclass) END;
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.check_answer(oid, oid) IS 'refuses to go on with a result that was changed by hand';

CREATE OR REPLACE FUNCTION gavial.role_text(change jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN (change ->> 'word')::boolean AND change ->> 'to' IN ('CURRENT_ROLE', 'CURRENT_USER', 'SESSION_USER')
           THEN change ->> 'to' ELSE quote_ident(change ->> 'to') END
$body$;
COMMENT ON FUNCTION gavial.role_text(jsonb) IS 'a role as it is written in a command';

CREATE OR REPLACE FUNCTION gavial.drop_step(step int, request jsonb, target regclass) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    view regclass;
BEGIN
    IF step > 1 THEN
        RETURN NULL;
    END IF;
    view := gavial.known(target, request);
    IF view IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM gavial.may_change(target);
    PERFORM gavial.take_lock(target, 'ACCESS EXCLUSIVE');
    RETURN format('%s; DROP TABLE %s %s; DROP VIEW %s', gavial.request('forget', target), target,
        CASE WHEN (request ->> 'cascade')::boolean THEN 'CASCADE' ELSE 'RESTRICT' END, view);
END
$body$;
COMMENT ON FUNCTION gavial.drop_step(int, jsonb, regclass) IS 'the commands of DROP STANDING QUERY for one query';

CREATE OR REPLACE FUNCTION gavial.comment_step(step int, request jsonb, target regclass) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF step > 1 OR gavial.known(target, request) IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM gavial.may_change(target), gavial.take_lock(target, 'SHARE UPDATE EXCLUSIVE');
    RETURN format('COMMENT ON TABLE %s IS %L', target, request ->> 'text');
END
$body$;
COMMENT ON FUNCTION gavial.comment_step(int, jsonb, regclass) IS 'the command of COMMENT ON STANDING QUERY';

CREATE OR REPLACE FUNCTION gavial.next_step(step int, request jsonb, target regclass, schema text, path text)
    RETURNS text
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE request ->> 'kind'
        WHEN 'create' THEN gavial.create_step(step, request, target, schema, path)
        WHEN 'alter' THEN gavial.alter_step(step, request, target)
        WHEN 'drop' THEN gavial.drop_step(step, request, target)
        WHEN 'comment' THEN gavial.comment_step(step, request, target)
    END
$body$;
COMMENT ON FUNCTION gavial.next_step(int, jsonb, regclass, text, text) IS 'the next command of a statement of ours; null at its end';

CREATE OR REPLACE FUNCTION gavial.locks_tables(step int, request jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT request ->> 'kind' = 'create' AND step <= 3
$body$;
COMMENT ON FUNCTION gavial.locks_tables(int, jsonb) IS 'whether a step is a command of PostgreSQL''s that waits for locks on what a SELECT names';

CREATE OR REPLACE FUNCTION gavial.limit_lock_wait(step int, request jsonb, asked timestamptz) RETURNS void
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
    -- For a moment only, so that the client can be told of it.
    SELECT set_config('lock_timeout', greatest(
        least(gavial.lock_patience() - extract(epoch FROM clock_timestamp() - asked), 1.5) * 1000, 1)::int::text, true)
    WHERE gavial.locks_tables(step, request)
$body$;
COMMENT ON FUNCTION gavial.limit_lock_wait(int, jsonb, timestamptz) IS 'has a step that waits for a lock fail soon';

CREATE OR REPLACE FUNCTION gavial.tell_who_locks(request jsonb, schema text, asked timestamptz, told text) RETURNS text
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    view CONSTANT regclass := to_regclass(format('gavial_views.%I', gavial.view_name(coalesce(request ->> 'schema', schema), request ->> 'name')));
    locked record;
BEGIN
    -- What the SELECT names stands in no catalog yet; what views read that it names is known when its own view is.
    SELECT c.oid::regclass AS relation, h.process INTO locked
    FROM pg_class c CROSS JOIN LATERAL gavial.lock_holder(c.oid, 'ACCESS SHARE') AS h (process)
    WHERE (c.relname IN (SELECT jsonb_object_keys(request #> '{places,table}')) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
           OR view IS NOT NULL AND c.oid IN (SELECT i.relation FROM gavial.inputs(view) i UNION SELECT l.layer FROM gavial.layers(view) l))
      AND h.process IS NOT NULL
    ORDER BY c.oid LIMIT 1;
    RETURN gavial.tell_blocked(coalesce(format('Table %s is to be read, and %%s has locked it.', replace(locked.relation::text, '%', '%%')),
        'A table that the query names is locked.'), locked.process, asked, gavial.lock_patience(), told);
END
$body$;
COMMENT ON FUNCTION gavial.tell_who_locks(jsonb, text, timestamptz, text) IS 'says who has locked what a SELECT names, or ends the statement that waits for it';

CREATE OR REPLACE PROCEDURE gavial.perform(requests jsonb, tag text)
    LANGUAGE plpgsql
AS $body$
DECLARE
    request pg_catalog.jsonb;
    target pg_catalog.regclass;
    command pg_catalog.text;
    given CONSTANT pg_catalog.text := pg_catalog.current_setting('lock_timeout');
    asked CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp();
    told pg_catalog.text;
BEGIN
    PERFORM gavial.take_turn(tag);
    FOR request IN SELECT pg_catalog.jsonb_array_elements(requests) LOOP
        target := pg_catalog.to_regclass(pg_catalog.jsonb_extract_path_text(request, 'as_written'));
        FOR step IN 1..9 LOOP
            command := gavial.next_step(step, request, target, pg_catalog.current_schema(),
                pg_catalog.current_setting('search_path'));
            EXIT WHEN command IS NULL;
            LOOP
                BEGIN
                    PERFORM gavial.limit_lock_wait(step, request, asked);
                    EXECUTE command;
                    PERFORM pg_catalog.set_config('lock_timeout', given, true);
                    EXIT;
                EXCEPTION WHEN lock_not_available THEN
                    IF gavial.locks_tables(step, request) THEN
                        told := gavial.tell_who_locks(request, pg_catalog.current_schema()::pg_catalog.text, asked, told);
                    ELSE
                        RAISE;
                    END IF;
                END;
            END LOOP;
        END LOOP;
    END LOOP;
    PERFORM gavial.tag(tag);
EXCEPTION WHEN invalid_table_definition THEN
    PERFORM gavial.explain_temporary(requests);
    command := gavial.replacing_view_command(request, target);
    IF command IS NOT NULL THEN
        EXECUTE command;
        PERFORM gavial.explain_columns(target);
    END IF;
    RAISE;
END
$body$;
COMMENT ON PROCEDURE gavial.perform(jsonb, text) IS 'a statement of ours, inside the caller''s transaction and with the caller''s rights';

CREATE OR REPLACE FUNCTION gavial.explain_temporary(requests jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    name text;
    refusal gavial.refusals;
BEGIN
    SELECT * INTO refusal FROM gavial.refusals r WHERE r.rule = 'temporary_table';
    FOR name IN SELECT jsonb_object_keys(requests #> '{0,places,table}') LOOP
        IF to_regclass(format('pg_temp.%I', name)) IS NOT NULL THEN
            PERFORM gavial.refuse('0A000', format(refusal.message, name), NULL, refusal.hint,
                (requests #>> ARRAY['0', 'places', 'table', name])::int);
        END IF;
    END LOOP;
END
$body$;
COMMENT ON FUNCTION gavial.explain_temporary(jsonb) IS
    'a view on a temporary table is refused by PostgreSQL in words that name neither';

CREATE OR REPLACE FUNCTION gavial.replacing_view_command(request jsonb, target regclass) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT gavial.create_view_command(request, NULL, 'pg_temp.gavial_replacing')
    WHERE request ->> 'kind' = 'create' AND EXISTS (SELECT FROM gavial.queries q WHERE q.result = target)
$body$;
COMMENT ON FUNCTION gavial.replacing_view_command(jsonb, regclass) IS
    'the command that makes a view to be looked at of the SELECT that is to replace a standing query''s';

CREATE OR REPLACE FUNCTION gavial.explain_columns(target regclass) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    name text;
    words text;
BEGIN
    SELECT concat_ws('.', quote_ident(n.nspname), quote_ident(c.relname)) INTO name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = target;
    SELECT CASE WHEN new.attname IS NULL THEN format('cannot drop column "%s" of standing query %s', old.attname, name)
                WHEN new.attname <> old.attname
                THEN format('cannot change name of column "%s" of standing query %s to "%s"', old.attname, name, new.attname)
                WHEN (new.atttypid, new.atttypmod) <> (old.atttypid, old.atttypmod)
                THEN format('cannot change type of column "%s" of standing query %s from %s to %s', old.attname, name,
                    format_type(old.atttypid, old.atttypmod), format_type(new.atttypid, new.atttypmod))
                ELSE format('cannot change collation of column "%s" of standing query %s', old.attname, name) END
    INTO words
    FROM gavial.queries q JOIN pg_attribute old ON old.attrelid = q.view AND old.attnum > 0
    LEFT JOIN pg_attribute new ON new.attrelid = to_regclass('pg_temp.gavial_replacing') AND new.attnum = old.attnum
    WHERE q.result = target AND (old.attname, old.atttypid, old.atttypmod, old.attcollation)
        IS DISTINCT FROM (new.attname, new.atttypid, new.atttypmod, new.attcollation)
    ORDER BY old.attnum LIMIT 1;
    IF words IS NOT NULL THEN
        PERFORM gavial.refuse('42P16', words, NULL, format('CREATE OR REPLACE keeps all columns with their names and types, and may add '
            'some behind them. For other columns, run DROP STANDING QUERY %s before, or choose another name.', name));
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.explain_columns(regclass) IS
    'PostgreSQL refuses other columns of a standing query that is replaced in words that speak of a view';
