-- The narrow functions that write the catalog with their owner's rights, each for a caller that owns what it concerns.
CREATE OR REPLACE FUNCTION gavial.require_owner(relation oid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF NOT (SELECT pg_has_role(session_user, c.relowner, 'MEMBER') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of standing query %s', relation::regclass);
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.require_owner(oid) IS 'refuses a session that may not act as the owner of a relation';

CREATE OR REPLACE FUNCTION gavial.register(view oid, result oid, query_text text, settings jsonb, options jsonb)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    query uuid;
BEGIN
    PERFORM gavial.require_owner(register.view), gavial.require_owner(register.result);
    INSERT INTO gavial.queries AS q (view, result, query_text, settings, options, status)
    VALUES (register.view, register.result, register.query_text, register.settings, register.options, 'initialising')
    ON CONFLICT ON CONSTRAINT queries_result_key DO UPDATE
    SET query_text = excluded.query_text, settings = excluded.settings, options = excluded.options,
        status = 'initialising', status_sqlstate = NULL, status_detail = NULL
    RETURNING id INTO query;
    DELETE FROM gavial.reads WHERE query_id = query;
    INSERT INTO gavial.reads SELECT DISTINCT query, i.relation FROM gavial.inputs(register.view) i;
    PERFORM gavial.enrol(r.relation) FROM gavial.reads r WHERE r.query_id = query ORDER BY r.relation::oid;
    PERFORM gavial.dismiss();
END
$body$;
COMMENT ON FUNCTION gavial.register(oid, oid, text, jsonb, jsonb) IS 'enters a standing query, or what replaces it';

CREATE OR REPLACE FUNCTION gavial.forget(result oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    PERFORM gavial.require_owner(forget.result);
    DELETE FROM gavial.queries q WHERE q.result = forget.result;
    PERFORM gavial.dismiss();
END
$body$;
COMMENT ON FUNCTION gavial.forget(oid) IS 'takes a standing query out of the catalog';

CREATE OR REPLACE FUNCTION gavial.change_options(result oid, given jsonb, taken text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    after jsonb;
BEGIN
    PERFORM gavial.require_owner(change_options.result);
    SELECT (q.options - taken) || given INTO after
    FROM gavial.queries q WHERE q.result = change_options.result FOR UPDATE;
    IF after ? 'FINAL_WORK' AND after ? 'LATENCY_GOAL' THEN
        PERFORM gavial.refuse('22023', 'FINAL_WORK and LATENCY_GOAL exclude each other', NULL, 'RESET the other one first.');
    END IF;
    UPDATE gavial.queries q SET options = after WHERE q.result = change_options.result;
END
$body$;
COMMENT ON FUNCTION gavial.change_options(oid, jsonb, text[]) IS 'ALTER STANDING QUERY … SET and RESET';

CREATE OR REPLACE FUNCTION gavial.change_status(result oid, suspended boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    PERFORM gavial.require_owner(change_status.result);
    UPDATE gavial.queries q
    SET status = CASE WHEN suspended THEN 'suspended' ELSE 'initialising' END,
        status_sqlstate = NULL, status_detail = NULL
    WHERE q.result = change_status.result;
    IF NOT suspended THEN
        UPDATE gavial.installation i
        SET system_identifier = c.system_identifier, database = d.oid, id = gen_random_uuid()
        FROM pg_control_system() c, pg_database d
        WHERE d.datname = current_database() AND gavial.is_elsewhere();
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.change_status(oid, boolean) IS 'ALTER STANDING QUERY … SUSPEND and RESUME';

CREATE OR REPLACE FUNCTION gavial.guard() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF current_setting('gavial.publishing', true) IS DISTINCT FROM TG_RELID::text THEN
        RAISE wrong_object_type USING
            MESSAGE = format('cannot change the rows of standing query "%s"', TG_TABLE_NAME),
            HINT = 'Change the tables it reads; its answer follows at its trigger.';
    END IF;
    RETURN NULL;
END
$body$;
COMMENT ON FUNCTION gavial.guard() IS 'lets only Gavial write an answer';

CREATE OR REPLACE FUNCTION gavial.columns_of(relation oid) RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ORDER BY a.attname)
    FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
$body$;
COMMENT ON FUNCTION gavial.columns_of(oid) IS 'names and types of a relation''s columns';

CREATE OR REPLACE FUNCTION gavial.is_whole(view oid, result oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT gavial.columns_of(view) = gavial.columns_of(result)
       AND EXISTS (SELECT FROM pg_trigger t
                   WHERE t.tgrelid = result AND t.tgname = 'gavial_guard' AND t.tgenabled IN ('O', 'A'))
$body$;
COMMENT ON FUNCTION gavial.is_whole(oid, oid) IS 'whether an answer still has the columns of its query, and its guard';
