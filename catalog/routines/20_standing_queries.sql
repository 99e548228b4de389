-- What users read about their queries.
CREATE OR REPLACE FUNCTION gavial.is_elsewhere() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT (i.system_identifier, i.database) IS DISTINCT FROM (c.system_identifier, d.oid)
    FROM gavial.installation i, pg_control_system() c, pg_database d
    WHERE d.datname = current_database()
$body$;
COMMENT ON FUNCTION gavial.is_elsewhere() IS
    'whether this database is a copy or was restored: its queries are suspended until resumed';

CREATE OR REPLACE VIEW gavial.standing_queries AS
    SELECT q.id,
           n.nspname::text AS schema_name,
           c.relname::text AS name,
           pg_get_userbyid(c.relowner)::text AS owner,
           q.view::oid AS view_oid,
           q.result::oid AS table_oid,
           q.query_text,
           q.settings,
           q.options,
           CASE WHEN gavial.is_elsewhere() THEN 'suspended' WHEN q.status = 'suspended' THEN q.status
                WHEN stopped.detail IS NOT NULL THEN 'error' ELSE q.status END AS status,
           CASE WHEN gavial.is_elsewhere() THEN '55000' WHEN q.status = 'suspended' THEN q.status_sqlstate
                WHEN stopped.detail IS NOT NULL THEN '55000' ELSE q.status_sqlstate END AS status_sqlstate,
           CASE WHEN gavial.is_elsewhere()
                THEN 'this database is a copy or was restored; RESUME computes its result from scratch'
                WHEN pg_has_role(c.relowner, 'USAGE') THEN CASE WHEN q.status = 'suspended' THEN q.status_detail
                    ELSE coalesce(stopped.detail, q.status_detail, unready.detail) END
                WHEN stopped.detail IS NULL THEN unready.detail END AS status_detail,
           q.position,
           q.position_time,
           CASE WHEN q.position IS NOT NULL THEN greatest(clock_timestamp() - least(q.due,
               (SELECT min(r.asked) FROM gavial.runs r
                WHERE r.query_id = q.id AND r.kind = 'refresh' AND r.state IN ('waiting', 'running'))), interval '0') END AS lag_own,
           NULL::interval AS lag_inherited,
           CASE WHEN NOT q.options ? 'LATENCY_GOAL' THEN coalesce((q.options ->> 'FINAL_WORK')::float8, 1) END AS goal,
           q.predicted_final_work,
           q.measured_final_work,
           q.batch_work,
           q.recompute_work,
           q.goal_reachable,
           q.due
    FROM gavial.queries q
    JOIN pg_class c ON c.oid = q.result
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN LATERAL (
        SELECT min(format('table %s cannot be captured: %s', s.relation, s.detail)) AS detail
        FROM gavial.reads r JOIN gavial.sources s USING (relation) WHERE r.query_id = q.id AND s.state = 'stopped') stopped ON true
    LEFT JOIN LATERAL (
        SELECT CASE WHEN q.position IS NULL THEN 'the result is not computed yet' ELSE 'the new result is not computed yet' END AS detail
        WHERE q.status = 'initialising') unready ON true;
COMMENT ON VIEW gavial.standing_queries IS 'every standing query of this database';
COMMENT ON COLUMN gavial.standing_queries.id IS 'identity of the query, for ever';
COMMENT ON COLUMN gavial.standing_queries.schema_name IS 'schema of the query and of its result';
COMMENT ON COLUMN gavial.standing_queries.name IS 'name of the query and of its result';
COMMENT ON COLUMN gavial.standing_queries.owner IS 'role that owns it, and with whose rights it reads';
COMMENT ON COLUMN gavial.standing_queries.view_oid IS 'the hidden view that holds the SELECT';
COMMENT ON COLUMN gavial.standing_queries.table_oid IS 'the table that holds the result';
COMMENT ON COLUMN gavial.standing_queries.query_text IS 'the SELECT as its creator wrote it';
COMMENT ON COLUMN gavial.standing_queries.settings IS 'the creator''s settings on which the meaning of the SELECT may depend';
COMMENT ON COLUMN gavial.standing_queries.options IS 'options given, by name';
COMMENT ON COLUMN gavial.standing_queries.status IS 'initialising (not computed yet), active, suspended or error';
COMMENT ON COLUMN gavial.standing_queries.status_sqlstate IS 'why it is suspended or in error';
COMMENT ON COLUMN gavial.standing_queries.status_detail IS 'the same in words, for those who may act as the owner; for all, that the result is not computed yet';
COMMENT ON COLUMN gavial.standing_queries.position IS 'position in the WAL at which the result is exact; null while it is not computed yet, and its table has no rows';
COMMENT ON COLUMN gavial.standing_queries.position_time IS 'when the last transaction was committed that had been captured as the result was published';
COMMENT ON COLUMN gavial.standing_queries.lag_own IS 'how long a newer result has been due, by its trigger or for a REFRESH that waits; 0 if none is, null before the first';
COMMENT ON COLUMN gavial.standing_queries.lag_inherited IS 'always null: standing queries do not read standing queries, so no lag is inherited';
COMMENT ON COLUMN gavial.standing_queries.goal IS 'highest final work wished for; null where the wish is a LATENCY_GOAL';
COMMENT ON COLUMN gavial.standing_queries.predicted_final_work IS 'share of batch_work that the plan leaves for the trigger';
COMMENT ON COLUMN gavial.standing_queries.measured_final_work IS 'the same, measured at the last trigger';
COMMENT ON COLUMN gavial.standing_queries.batch_work IS 'work of doing the last period''s changes in one run';
COMMENT ON COLUMN gavial.standing_queries.recompute_work IS 'work of computing the result from scratch';
COMMENT ON COLUMN gavial.standing_queries.goal_reachable IS 'whether some plan meets the goal; null while it is not known how many rows will arrive before the trigger';
COMMENT ON COLUMN gavial.standing_queries.due IS 'when the trigger fires next, or fired, if that result is not published yet; null where only REFRESH asks for it';

CREATE OR REPLACE FUNCTION gavial.names_of_attributes(relation regclass, names text[]) RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT array_agg(coalesce(a.attname::text, n.name) ORDER BY n.place)
    FROM unnest(names) WITH ORDINALITY AS n(name, place)
    LEFT JOIN pg_attribute a ON a.attrelid = relation AND n.name = 'a' || a.attnum
$body$;
COMMENT ON FUNCTION gavial.names_of_attributes(regclass, text[]) IS
    'the names of a table''s columns, which the warehouse knows by their numbers';

CREATE OR REPLACE FUNCTION gavial.detail_of_status(status text, detail text, "position" pg_lsn) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT CASE WHEN $1 IN ('suspended', 'error') AND $3 IS NULL THEN concat_ws(': ', 'the result is not computed yet', $2) ELSE $2 END
$body$;
COMMENT ON FUNCTION gavial.detail_of_status(text, text, pg_lsn) IS
    'why a query is not active, as people read it: of one that has failed before its first result, that its table has no result';

CREATE OR REPLACE VIEW gavial.shown AS
    SELECT schema_name AS schema, name, owner, status, gavial.detail_of_status(status, status_detail, position) AS detail,
            coalesce(options ->> 'TRIGGER', 'on demand') AS trigger, goal, position,
            date_trunc('second', position_time) AS last_result, date_trunc('second', due) AS next_trigger,
            nullif(date_trunc('second', lag_own), interval '0') AS late_by,
            round(measured_final_work::numeric, 3)::float8 AS measured, round(predicted_final_work::numeric, 3)::float8 AS predicted
     FROM gavial.standing_queries ORDER BY 1, 2;
COMMENT ON VIEW gavial.shown IS 'rows of SHOW STANDING QUERIES';
COMMENT ON COLUMN gavial.shown.schema IS 'schema of the query';
COMMENT ON COLUMN gavial.shown.name IS 'name of the query';
COMMENT ON COLUMN gavial.shown.owner IS 'its owner';
COMMENT ON COLUMN gavial.shown.status IS 'initialising (not computed yet), active, suspended or error';
COMMENT ON COLUMN gavial.shown.detail IS 'why it is not active';
COMMENT ON COLUMN gavial.shown.trigger IS 'when its result is due';
COMMENT ON COLUMN gavial.shown.goal IS 'highest final work wished for; null where the wish is a LATENCY_GOAL';
COMMENT ON COLUMN gavial.shown.position IS 'position in the WAL of its result; null while it is not computed yet, and its table has no rows';
COMMENT ON COLUMN gavial.shown.last_result IS 'when the last transaction was committed that had been captured as its result was published';
COMMENT ON COLUMN gavial.shown.next_trigger IS 'when its trigger fires next, or fired, if that result is not published yet; null where only REFRESH asks for it';
COMMENT ON COLUMN gavial.shown.late_by IS 'how long a newer result has been due; null while none is';
COMMENT ON COLUMN gavial.shown.measured IS 'final work measured at the last trigger, as a share of the batch''s';
COMMENT ON COLUMN gavial.shown.predicted IS 'final work that the plan leaves for the trigger, as a share of the batch''s';

CREATE OR REPLACE VIEW gavial.states AS
    SELECT substring(a.buffer FROM '^node-(.*)-')::uuid AS query_id,
           CASE WHEN a.buffer LIKE 'table-%' THEN coalesce(t.relation::text, a.buffer)
                ELSE coalesce(p.text, 'part') || ' ' || substring(a.buffer FROM '[0-9]+$') END AS state,
           gavial.names_of_attributes(t.relation, a.key) AS key,
           gavial.names_of_attributes(t.relation, a.columns) AS columns,
           a.kept, CASE WHEN a.kept THEN coalesce(d.why, a.why) ELSE a.why END AS why,
           coalesce(d.predicted_bytes, a.predicted_bytes) AS predicted_bytes, a.bytes, a.rows,
           CASE WHEN t.relation IS NOT NULL THEN pg_lsn '0/0' + a.reached END AS position,
           a.uses, a.last_used
    FROM gavial.arrangements a
    LEFT JOIN gavial.sources t ON a.buffer = 'table-' || t.relation::oid
    LEFT JOIN gavial.subplans p ON a.buffer = format('node-%s-%s', p.query_id, p.subplan)
    LEFT JOIN LATERAL (
        SELECT string_agg(DISTINCT c.why, '; ') AS why, max(c.predicted_bytes) AS predicted_bytes
        FROM gavial.decided_states c
        WHERE c.kept AND c.buffer = a.buffer AND c.key @> a.key AND c.key <@ a.key) d ON true
    UNION ALL
    SELECT c.query_id,
           CASE WHEN c.buffer LIKE 'table-%' THEN coalesce(t.relation::text, c.buffer)
                ELSE coalesce(p.text, 'part') || ' ' || substring(c.buffer FROM '[0-9]+$') END,
           gavial.names_of_attributes(t.relation, c.key), NULL, false,
           CASE WHEN c.kept THEN 'it is kept from the next look-up on: ' ELSE '' END || c.why,
           c.predicted_bytes, 0, 0, NULL, 0, NULL
    FROM gavial.decided_states c
    LEFT JOIN gavial.sources t ON c.buffer = 'table-' || t.relation::oid
    LEFT JOIN gavial.subplans p ON c.buffer = format('node-%s-%s', p.query_id, p.subplan)
    WHERE NOT c.kept OR NOT EXISTS (
        SELECT FROM gavial.arrangements a WHERE c.buffer = a.buffer AND c.key @> a.key AND c.key <@ a.key);
COMMENT ON VIEW gavial.states IS 'rows that are kept between runs to look them up by key, and those that a query does without: of tables, for all queries that read them, and of parts of queries';
COMMENT ON COLUMN gavial.states.query_id IS 'the standing query of which it is a part, or which does without it; null for rows of a table that are kept';
COMMENT ON COLUMN gavial.states.state IS 'what the rows are of: a table, or a part of the query as gavial.subplans has it, with its number';
COMMENT ON COLUMN gavial.states.key IS 'columns that rows are looked up by';
COMMENT ON COLUMN gavial.states.columns IS 'columns that are kept of each row';
COMMENT ON COLUMN gavial.states.kept IS 'whether it is there; else rows are scanned';
COMMENT ON COLUMN gavial.states.why IS 'why it is kept, or is not';
COMMENT ON COLUMN gavial.states.predicted_bytes IS 'size expected at the end of the period';
COMMENT ON COLUMN gavial.states.bytes IS 'size now, in memory and on disk';
COMMENT ON COLUMN gavial.states.rows IS 'number of rows now';
COMMENT ON COLUMN gavial.states.position IS 'position in the WAL up to which it has a table''s changes; newer ones are scanned';
COMMENT ON COLUMN gavial.states.uses IS 'how many look-ups there were since the coordinator started';
COMMENT ON COLUMN gavial.states.last_used IS 'when the last of them was';

GRANT USAGE ON SCHEMA gavial TO PUBLIC;
GRANT SELECT ON gavial.installation, gavial.shown, gavial.standing_queries, gavial.paths, gavial.subplans, gavial.states,
    gavial.executions, gavial.triggers, gavial.sources TO PUBLIC;
