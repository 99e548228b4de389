-- Triggers by time are kept as PostgreSQL writes their intervals, for whoever reads them.
SELECT set_config('IntervalStyle', 'postgres', true);
UPDATE gavial.queries q SET options = jsonb_set(q.options, '{TRIGGER}', to_jsonb(t.words))
FROM (
    SELECT o.id, string_agg(CASE WHEN p.part ~ '^every [0-9.]+ s$'
        THEN 'every ' || justify_hours(make_interval(secs => substring(p.part FROM '[0-9.]+')::float8)) ELSE p.part END,
        ' or ' ORDER BY p.place) AS words
    FROM gavial.queries o, regexp_split_to_table(o.options ->> 'TRIGGER', ' or ') WITH ORDINALITY AS p (part, place)
    GROUP BY o.id
) t
WHERE t.id = q.id AND q.options ->> 'TRIGGER' <> t.words;

DROP FUNCTION IF EXISTS gavial.described(oid, text, jsonb, text);

COMMENT ON COLUMN gavial.queries.goal_reachable IS 'whether some plan meets the goal; null while it is not known what comes until the trigger';
