-- What the costs of a query depend on: sizes of its tables, what comes, and what work takes here.
GRANT SELECT (query_id, relation, expected) ON gavial.reads TO PUBLIC;
GRANT SELECT (query_id, digest, planned) ON gavial.plans TO PUBLIC;

-- The least and greatest values of columns are among the statistics: they are for who may act as the owner.
CREATE OR REPLACE VIEW gavial.kept_plans WITH (security_barrier) AS
    SELECT q.view, p.digest AS fingerprint, p.statistics,
           coalesce((SELECT jsonb_object_agg(a.path, jsonb_build_object('pace', a.pace, 'incrementability', a.incrementability, 'reason', a.reason))
                     FROM gavial.paths a WHERE a.query_id = p.query_id), '{}') AS paces
    FROM gavial.plans p JOIN gavial.queries q ON q.id = p.query_id JOIN pg_class c ON c.oid = q.result
    WHERE pg_has_role(c.relowner, 'USAGE');
COMMENT ON VIEW gavial.kept_plans IS 'the plans that queries are computed by, for those who may act as the owner';
COMMENT ON COLUMN gavial.kept_plans.view IS 'the hidden view of the query';
COMMENT ON COLUMN gavial.kept_plans.fingerprint IS 'fingerprint of the plan';
COMMENT ON COLUMN gavial.kept_plans.statistics IS 'what was known of the tables when it was planned';
COMMENT ON COLUMN gavial.kept_plans.paces IS 'by the numbers of the plan''s paths: pace, incrementability, and why this pace';
GRANT SELECT ON gavial.kept_plans TO PUBLIC;

CREATE OR REPLACE FUNCTION gavial.sizes(relation oid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_build_object(
        'schema', n.nspname,
        'name', c.relname,
        'oid', c.oid::int8,
        -- A table that was never analysed has -1; so many rows fit a page, roughly.
        'rows', CASE WHEN c.relkind = 'p' THEN (
                         SELECT coalesce(sum(CASE WHEN l.reltuples >= 0 THEN l.reltuples ELSE pg_relation_size(l.oid) / 100 END), 0)::float8
                         FROM pg_partition_tree(c.oid) p JOIN pg_class l ON l.oid = p.relid WHERE p.isleaf)
                     WHEN c.reltuples > 0 OR c.reltuples = 0 AND c.relpages > 0 THEN c.reltuples::float8
                     ELSE greatest(1000, pg_relation_size(c.oid) / 100)::float8 END,
        'columns', (
            SELECT coalesce(jsonb_agg(jsonb_build_object('attribute', a.attnum, 'distinct', s.n_distinct,
                'null_share', s.null_frac, 'type', a.atttypid::int8, 'least', (s.histogram_bounds::text::text[])[1],
                'greatest', (s.histogram_bounds::text::text[])[cardinality(s.histogram_bounds::text::text[])]) ORDER BY a.attnum), '[]')
            FROM pg_stats s JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = s.attname
            WHERE s.schemaname = n.nspname AND s.tablename = c.relname AND s.inherited = (c.relkind = 'p')))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = $1
$body$;
COMMENT ON FUNCTION gavial.sizes(oid) IS 'what PostgreSQL knows of a table''s rows and of the values of its columns';

CREATE OR REPLACE FUNCTION gavial.known_arrivals(query uuid, relations oid[]) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_build_object(
        'hours', (SELECT coalesce(jsonb_agg(jsonb_build_object('relation', a.relation::oid::int8, 'hour', extract(epoch FROM a.hour),
                                                               'rows', a.rows, 'updates', a.updates, 'deletes', a.deletes)), '[]')
                  FROM gavial.arrivals a WHERE a.relation::oid = ANY (relations) AND a.hour > now() - interval '29 days'),
        -- The usual length of a period is taken from these.
        'fired', (SELECT coalesce(jsonb_agg(extract(epoch FROM l.fired) ORDER BY l.fired), '[]')
                  FROM (SELECT t.fired FROM gavial.triggers t WHERE t.query_id = query ORDER BY t.fired DESC LIMIT 21) l),
        'since', extract(epoch FROM least(
            (SELECT min(t.fired) FROM gavial.triggers t WHERE t.query_id = query),
            (SELECT min(a.hour) + interval '1 hour' FROM gavial.arrivals a WHERE a.relation::oid = ANY (relations)))),
        'now', extract(epoch FROM now()))
$body$;
COMMENT ON FUNCTION gavial.known_arrivals(uuid, oid[]) IS
    'what came to tables by the hour and since when that is known, and when the latest triggers of a query fired';

CREATE OR REPLACE FUNCTION gavial.figures(view oid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT jsonb_build_object(
        'expected', (SELECT coalesce(jsonb_object_agg(r.relation::oid::text, r.expected), '{}')
                     FROM gavial.queries q JOIN gavial.reads r ON r.query_id = q.id
                     WHERE q.view = $1 AND r.expected IS NOT NULL),
        'arrivals', gavial.known_arrivals((SELECT q.id FROM gavial.queries q WHERE q.view = $1),
                                          ARRAY(SELECT i.relation FROM gavial.inputs($1) i)),
        'zone', coalesce((SELECT s.settings ->> 'TimeZone' FROM gavial.standing_queries s WHERE s.view_oid = $1),
                         current_setting('TimeZone')),
        'corrections', (SELECT coalesce(jsonb_object_agg(s.subplan::text, s.correction), '{}')
                        FROM gavial.queries q JOIN gavial.subplans s ON s.query_id = q.id
                        WHERE q.view = $1 AND s.correction IS NOT NULL),
        'own_weights', (SELECT coalesce(jsonb_object_agg(s.subplan::text, s.weights), '{}')
                        FROM gavial.queries q JOIN gavial.subplans s ON s.query_id = q.id
                        WHERE q.view = $1 AND s.weights IS NOT NULL),
        'measured', (
            WITH runs AS (
                SELECT e.id, e.from_scratch, e.measured_work, e.predicted_work FROM gavial.queries q
                JOIN gavial.plans p ON p.query_id = q.id
                JOIN gavial.executions e ON e.query_ids = ARRAY[q.id] AND e.started >= p.planned AND e.finished IS NOT NULL
                WHERE q.view = $1
            )
            SELECT jsonb_build_object(
                'subplans', (SELECT coalesce(jsonb_object_agg(s.subplan::text, jsonb_build_object('work', s.work, 'predicted', s.predicted)), '{}')
                             FROM (SELECT DISTINCT ON (m.subplan) m.subplan, m.work, coalesce(m.predicted, m.work) AS predicted
                                   FROM (SELECT id FROM runs ORDER BY id DESC LIMIT 20) r
                                   JOIN gavial.measurements m ON m.execution = r.id
                                   ORDER BY m.subplan, m.execution DESC) s),
                'from_scratch', (SELECT jsonb_build_object('work', r.measured_work, 'predicted', coalesce(r.predicted_work, r.measured_work))
                                 FROM runs r WHERE r.from_scratch ORDER BY r.id DESC LIMIT 1))),
        'recompute_work', (SELECT s.recompute_work FROM gavial.standing_queries s WHERE s.view_oid = $1),
        'engines', (SELECT coalesce(jsonb_agg(to_jsonb(e) - 'fitted' ORDER BY e.engine), '[]') FROM gavial.engines e))
$body$;
COMMENT ON FUNCTION gavial.figures(oid) IS 'what the cost of keeping a query depends on, as far as it is known';
