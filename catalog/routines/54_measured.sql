-- EXPLAIN ANALYZE: what the last trigger of a query and the firings of its period took, beside what was predicted.
CREATE OR REPLACE FUNCTION gavial.measured(query uuid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    WITH periods AS (
        SELECT t.*, lag(t.position) OVER before AS since, t.fired = max(t.fired) OVER () AS is_last
        FROM gavial.triggers t WHERE t.query_id = query WINDOW before AS (ORDER BY t.fired)
    ), latest AS (
        -- The last period in which something came; where that is forgotten, the last one.
        SELECT p.*, EXISTS (SELECT FROM gavial.executions e WHERE e.query_ids = ARRAY[query] AND e.finished IS NOT NULL
                            AND e.position > coalesce(p.since, '0/0') AND e.position <= p.position) AS has_fired
        FROM periods p ORDER BY has_fired DESC, p.fired DESC LIMIT 1
    ), firings AS (
        SELECT e.id, e.id = max(e.id) OVER () AS last, e.predicted_work, e.measured_work, e.from_scratch, e.changes_work, e.recompute_work
        FROM gavial.executions e, latest l
        WHERE e.query_ids = ARRAY[query] AND e.finished IS NOT NULL
          AND e.position > coalesce(l.since, '0/0') AND e.position <= l.position
    ), parts AS (
        SELECT s.subplan, s.text, count(m.execution) AS firings, sum(m.rows_in) AS rows_in, sum(m.rows_out) AS rows_out,
               string_agg(DISTINCT m.engine, ' and ') AS engines,
               sum(m.work) AS work, sum(m.predicted) AS predicted_work,
               sum(m.work) FILTER (WHERE f.last) AS final_work, sum(m.predicted) FILTER (WHERE f.last) AS predicted_final_work
        FROM gavial.subplans s CROSS JOIN firings f
        LEFT JOIN gavial.measurements m ON m.execution = f.id AND m.subplan = s.subplan
        WHERE s.query_id = query GROUP BY s.subplan, s.text
    )
    SELECT jsonb_build_object(
        'position', l.position, 'goal', l.goal, 'met', l.met, 'seconds', l.final_seconds, 'batch_work', l.batch_work,
        'final_work', l.measured_final_work, 'predicted_final_work', l.predicted_final_work, 'total_work', l.total_work,
        'firings', (SELECT count(*) FROM firings),
        'from_scratch', (SELECT count(*) FROM firings f WHERE f.from_scratch),
        'choice', (SELECT jsonb_build_object('from_scratch', f.from_scratch, 'changes', f.changes_work, 'recompute', f.recompute_work)
                   FROM firings f WHERE f.last AND f.changes_work IS NOT NULL),
        'subplans', (SELECT coalesce(jsonb_agg(to_jsonb(p) - 'subplan' ORDER BY p.subplan), '[]') FROM parts p))
        || CASE WHEN l.is_last THEN '{}' ELSE jsonb_build_object('unchanged_since', l.fired) END
    FROM latest l
$body$;
COMMENT ON FUNCTION gavial.measured(uuid) IS 'what the last period of a query took, beside what was predicted';

CREATE OR REPLACE FUNCTION gavial.figure(value text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
    SELECT coalesce(trim_scale(round(value::numeric, greatest(2 - floor(log(nullif(abs(value::numeric), 0)))::int, 0)))::text,
                    value, 'unknown')
$body$;
COMMENT ON FUNCTION gavial.figure(text) IS 'a number to three digits, as people read it';

CREATE OR REPLACE FUNCTION gavial.measured_lines(measured jsonb) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    part jsonb;
BEGIN
    RETURN NEXT '  Measured:';
    IF measured ? 'unchanged_since' THEN
        RETURN NEXT format('    Nothing has changed since the result that was due at %s, which took:',
            date_trunc('second', (measured ->> 'unchanged_since')::timestamptz));
    END IF;
    RETURN NEXT CASE WHEN measured ->> 'final_work' IS NULL
        THEN '    Final work: not measured, for it was computed from scratch, or before paces were chosen'
        ELSE format('    Final work: %s of the batch''s %s s, predicted %s%s', gavial.figure(measured ->> 'final_work'),
        gavial.figure(measured ->> 'batch_work'), gavial.figure(measured ->> 'predicted_final_work'),
        coalesce(format(' (goal %s: %s)', measured ->> 'goal', CASE (measured ->> 'met')::boolean
            WHEN true THEN 'met' WHEN false THEN 'missed' ELSE 'nothing came' END), '')) END;
    RETURN NEXT format('    Total work: %s s in %s runs; %s s from the trigger to the result at %s', gavial.figure(measured ->> 'total_work'),
        measured ->> 'firings', gavial.figure(measured ->> 'seconds'), measured ->> 'position');
    IF measured -> 'choice' <> 'null' THEN
        RETURN NEXT format('    The last run computed %s: changes were expected to take %s s, everything from scratch %s s',
            CASE WHEN (measured #>> '{choice,from_scratch}')::boolean THEN 'everything from scratch' ELSE 'changes' END,
            gavial.figure(measured #>> '{choice,changes}'), gavial.figure(measured #>> '{choice,recompute}'));
    END IF;
    FOR part IN SELECT jsonb_array_elements(measured -> 'subplans') LOOP
        RETURN NEXT format('    %s: %s rows in, %s out in %s runs%s, %s s of work (predicted %s), the last one %s s (predicted %s)',
            part ->> 'text', coalesce(part ->> 'rows_in', '0'), coalesce(part ->> 'rows_out', '0'), part ->> 'firings',
            coalesce(' by ' || (part ->> 'engines'), ''),
            gavial.figure(coalesce(part ->> 'work', '0')), gavial.figure(coalesce(part ->> 'predicted_work', '0')),
            gavial.figure(coalesce(part ->> 'final_work', '0')), gavial.figure(coalesce(part ->> 'predicted_final_work', '0')));
    END LOOP;
END
$body$;
COMMENT ON FUNCTION gavial.measured_lines(jsonb) IS 'the same as EXPLAIN prints it';

CREATE OR REPLACE FUNCTION gavial.analysed(target regclass, request jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF NOT request -> 'options' ? 'ANALYZE' THEN
        RETURN NULL;
    END IF;
    PERFORM gavial.may_change(target);
    PERFORM gavial.run('refresh', 'EXPLAIN ANALYZE', target);
    RETURN (SELECT gavial.measured(s.id) FROM gavial.standing_queries s WHERE s.table_oid = target);
END
$body$;
COMMENT ON FUNCTION gavial.analysed(regclass, jsonb) IS 'brings a result up to date where EXPLAIN is to say what that takes';
