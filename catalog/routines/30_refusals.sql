-- What PostgreSQL's own analysis of a hidden view says about whether it can be maintained.
CREATE OR REPLACE FUNCTION gavial.layers(view oid) RETURNS TABLE (layer oid, reader oid, rule text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
AS $body$
BEGIN
    RETURN QUERY WITH RECURSIVE layers (oid) AS (
        SELECT $1
        UNION
        SELECT c.oid
        FROM layers
        JOIN pg_rewrite r ON r.ev_class = layers.oid
        CROSS JOIN LATERAL regexp_matches(r.ev_action::text, ' :relid (\d+)', 'g') AS found (relid)
        JOIN pg_class c ON c.oid = found.relid[1]::oid AND c.relkind = 'v' AND c.oid >= 16384
    )
    SELECT layers.oid, c.relowner, r.ev_action::text
    FROM layers JOIN pg_rewrite r ON r.ev_class = layers.oid JOIN pg_class c ON c.oid = layers.oid;
END
$body$;
COMMENT ON FUNCTION gavial.layers(oid) IS 'a view and the views below it, each with its owner and its stored rule';

CREATE OR REPLACE FUNCTION gavial.inputs(view oid) RETURNS TABLE (relation oid, reader oid)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
AS $body$
BEGIN
    RETURN QUERY SELECT DISTINCT c.oid, l.reader
    FROM gavial.layers($1) l
    CROSS JOIN LATERAL regexp_matches(l.rule, ' :relid (\d+)', 'g') AS found (relid)
    JOIN pg_class c ON c.oid = found.relid[1]::oid AND (c.relkind <> 'v' OR c.oid < 16384)
    WHERE c.oid <> l.layer;
END
$body$;
COMMENT ON FUNCTION gavial.inputs(oid) IS 'the tables under a view, each with the role whose rights read it';

CREATE OR REPLACE FUNCTION gavial.table_problem(relation oid, reader oid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE
        WHEN c.oid < 16384 OR c.relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
            THEN 'system_catalog'
        WHEN c.relkind = 'm' THEN 'materialized_view'
        WHEN c.relkind = 'f' THEN 'foreign_table'
        WHEN c.relkind = 'S' THEN 'sequence'
        WHEN c.relpersistence = 't' THEN 'temporary_table'
        WHEN c.relpersistence = 'u' THEN 'unlogged_table'
        WHEN EXISTS (SELECT FROM gavial.queries q WHERE q.result = c.oid) THEN 'standing_query'
        WHEN c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) THEN 'inheritance'
        WHEN c.relkind IN ('r', 'p')
            AND EXISTS (SELECT FROM pg_attribute g WHERE g.attrelid = c.oid AND g.attgenerated = 'v' AND NOT g.attisdropped)
            THEN 'virtual_column'
        WHEN c.relrowsecurity AND NOT (a.rolsuper OR a.rolbypassrls)
            AND (c.relforcerowsecurity OR NOT pg_has_role(a.oid, c.relowner, 'USAGE')) THEN 'row_security'
    END
    FROM pg_class c, pg_roles a WHERE c.oid = $1 AND a.oid = $2
$body$;
COMMENT ON FUNCTION gavial.table_problem(oid, oid) IS 'the rule by which a table cannot be read by a standing query, or null';

CREATE OR REPLACE FUNCTION gavial.function_problem(function oid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN p.oid >= 16384 THEN 'user_function'
                WHEN p.provolatile = 'v' THEN 'volatile_function'
                WHEN p.provolatile = 's' AND p.proname IN ('concat', 'concat_ws', 'format', 'array_to_string', 'anytextcat', 'textanycat')
                    THEN 'text_function'
                WHEN p.provolatile = 's' AND p.proname NOT IN ('to_char', 'age')
                    AND (p.proargtypes::oid[] && ARRAY['timestamptz', 'timetz']::regtype[]::oid[]
                         OR p.prorettype IN ('timestamptz'::regtype, 'timetz'::regtype)
                            AND p.proargtypes::oid[] && ARRAY['date', 'time', 'timestamp']::regtype[]::oid[])
                    THEN 'zone_function'
                WHEN p.provolatile = 's' THEN 'session_function' END
    FROM pg_proc p WHERE p.oid = $1
$body$;
COMMENT ON FUNCTION gavial.function_problem(oid) IS 'the rule by which a function cannot be maintained, or null';

CREATE OR REPLACE FUNCTION gavial.type_is_exact(type oid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE t.typtype
        WHEN 'd' THEN gavial.type_is_exact(t.typbasetype)
        WHEN 'e' THEN true
        WHEN 'b' THEN CASE
            WHEN t.typcategory = 'A' THEN gavial.type_is_exact(t.typelem)
            ELSE t.oid = ANY (ARRAY['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'text', 'varchar',
                'bpchar', 'name', 'bytea', 'date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval', 'uuid',
                'json', 'jsonb']::regtype[]::oid[]) END
        ELSE false END
    FROM pg_type t WHERE t.oid = $1
$body$;
COMMENT ON FUNCTION gavial.type_is_exact(oid) IS 'whether values of a type have an exact counterpart in the engine';

CREATE OR REPLACE FUNCTION gavial.problems(view oid) RETURNS TABLE (rule text, kind text, name text)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET standard_conforming_strings = on
AS $body$
    -- A join lists every column of its sides, read or not.
    WITH layers AS MATERIALIZED (
        SELECT regexp_replace(l.rule, ' :joinaliasvars \(.*?\) :joinleftcols ', ' ', 'g') AS text FROM gavial.layers($1) l
    ),
    -- Everything the rules name by number: functions, types, collations, columns.
    named AS MATERIALIZED (
        SELECT DISTINCT found.pair[1] AS what, found.pair[2]::bigint AS number
        FROM layers, regexp_matches(text,
            ' :(funcid|opno|opfuncid|aggfnoid|winfnoid|vartype|inputcollid|varcollid|collOid|varattno) (-?\d+)', 'g') AS found (pair)
    ),
    -- Of a function behind an operator the operator, which is what the query has.
    functions AS (
        SELECT DISTINCT p.oid, coalesce(o.oprname, p.proname)::text AS proname, gavial.function_problem(p.oid) AS rule
        FROM named JOIN pg_proc p ON p.oid = named.number
        LEFT JOIN (pg_operator o JOIN named used ON used.what = 'opno' AND used.number = o.oid)
            ON named.what = 'opfuncid' AND o.oprcode = p.oid
        WHERE named.what IN ('funcid', 'opfuncid', 'aggfnoid', 'winfnoid')
    ),
    -- Conversions through text: what is converted (where the rule says so at once), and into what.
    conversions AS (
        SELECT DISTINCT CASE WHEN t.oid < 16384 THEN format_type(t.oid, NULL) ELSE t.typname END AS typname, p.provolatile
        FROM layers,
             regexp_matches(text, '\{COERCEVIAIO :arg \{[A-Z]+ [^{}]*'
                 ':(?:var|const|funcresult|opresult|agg|win|case|coalesce|minmax|param|result)type (\d+) ', 'g') AS found (oid)
        JOIN pg_type t ON t.oid = found.oid[1]::oid JOIN pg_proc p ON p.oid = t.typoutput
        WHERE text LIKE '%{COERCEVIAIO %'
        UNION
        SELECT DISTINCT CASE WHEN t.oid < 16384 THEN format_type(t.oid, NULL) ELSE t.typname END, p.provolatile
        FROM layers, regexp_matches(text, ' :resulttype (\d+) :resultcollid', 'g') AS found (oid)
        JOIN pg_type t ON t.oid = found.oid[1]::oid JOIN pg_proc p ON p.oid = t.typinput
        WHERE text LIKE '%{COERCEVIAIO %'
        UNION
        SELECT 'another type', 's' FROM layers WHERE text ~ '\{COERCEVIAIO :arg \{[A-Z]+ :arg \{'
    ),
    types AS (
        SELECT number::oid AS oid FROM named WHERE what = 'vartype'
            AND NOT EXISTS (SELECT FROM named system WHERE system.what = 'varattno' AND system.number < 0)
        UNION SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0
    )
    SELECT t.rule, 'table', t.relname
    FROM (SELECT c.relname::text, gavial.table_problem(i.relation, i.reader) AS rule
          FROM gavial.inputs($1) i JOIN pg_class c ON c.oid = i.relation) t
    WHERE t.rule IS NOT NULL
    UNION ALL
    SELECT f.rule, 'function', f.proname FROM functions f WHERE f.rule IS NOT NULL
    UNION ALL
    SELECT 'user_function', 'function', o.oprname::text
    FROM named JOIN pg_operator o ON o.oid = named.number WHERE what = 'opno' AND o.oid >= 16384
    UNION ALL
    SELECT 'session_function', 'value', (ARRAY['current_date', 'current_time', 'current_time', 'current_timestamp',
        'current_timestamp', 'localtime', 'localtime', 'localtimestamp', 'localtimestamp', 'current_role',
        'current_user', 'user', 'session_user', 'current_catalog', 'current_schema'])[found.op[1]::int + 1]
    FROM layers, regexp_matches(text, '\{SQLVALUEFUNCTION :op (\d+)', 'g') AS found (op)
    WHERE text LIKE '%{SQLVALUEFUNCTION %'
    UNION ALL
    SELECT 'text_conversion', 'cast', 'a conversion between text and ' || c.typname
    FROM conversions c WHERE c.provolatile <> 'i'
    UNION ALL
    SELECT 'system_column', 'column', (ARRAY['ctid', 'xmin', 'cmin', 'xmax', 'cmax', 'tableoid'])[-number]
    FROM named WHERE what = 'varattno' AND number < 0
    UNION ALL SELECT 'row_lock', 'clause', 'row_lock' FROM layers WHERE text LIKE '% :hasForUpdate true%'
    UNION ALL SELECT 'sample', 'clause', 'sample' FROM layers WHERE text LIKE '% :tablesample {%'
    UNION ALL
    SELECT 'set_in_select_list', 'function', p.proname::text
    FROM layers, regexp_matches(text, ' :funcid (\d+) :funcresulttype \d+ :funcretset true', 'g') AS found (oid)
    JOIN pg_proc p ON p.oid = found.oid[1]::oid WHERE text LIKE '% :hasTargetSRFs true%'
    UNION ALL SELECT 'recursion', 'clause', 'recursion' FROM layers WHERE text LIKE '% :hasRecursive true%'
    UNION ALL SELECT 'limit_without_order', 'clause', 'limit' FROM layers
        WHERE text LIKE '% :sortClause <> :limitOffset {%' OR text LIKE '% :sortClause <> :limitOffset <> :limitCount {%'
    UNION ALL
    SELECT 'type', 'type', format_type(t.oid, NULL)
    FROM types JOIN pg_type t ON t.oid = types.oid
    WHERE t.typtype <> 'c' AND t.oid <> 'record'::regtype AND NOT gavial.type_is_exact(t.oid)
    UNION ALL
    SELECT 'collation', 'collation', l.collname::text
    FROM named JOIN pg_collation l ON l.oid = named.number
    WHERE what IN ('inputcollid', 'varcollid', 'collOid') AND NOT l.collisdeterministic
$body$;
COMMENT ON FUNCTION gavial.problems(oid) IS 'why a view cannot be maintained: the rule, the kind of piece, its name';

CREATE OR REPLACE FUNCTION gavial.piece(rule text, name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN name ~ '[[:alnum:]]' OR rule = 'user_function' THEN name ELSE 'the operator ' || name END
$body$;
COMMENT ON FUNCTION gavial.piece(text, text) IS 'a piece of a query as messages name it';

CREATE OR REPLACE FUNCTION gavial.check_query(view oid, places jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    problem record;
BEGIN
    SELECT r.rule, p.name, r.message, r.hint, coalesce(places #>> ARRAY[p.kind, p.name], places #>> ARRAY[p.kind, ''])::int AS place INTO problem
    FROM gavial.problems(view) p JOIN gavial.refusals r USING (rule)
    ORDER BY r.rule = 'text_function', place NULLS LAST, r.rule, p.name LIMIT 1;
    IF FOUND THEN
        PERFORM gavial.refuse('0A000', format(problem.message, gavial.piece(problem.rule, problem.name)), NULL, problem.hint, problem.place);
    END IF;
END
$body$;
COMMENT ON FUNCTION gavial.check_query(oid, jsonb) IS 'refuses a view that cannot be maintained, at the place of the first problem';
GRANT SELECT ON gavial.refusals TO PUBLIC;
GRANT SELECT (id, view, result, options) ON gavial.queries TO PUBLIC;
