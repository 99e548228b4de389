SELECT 'a\b' AS a, E'x\ny''' AS b, $$q'$$ AS c, '' AS d, 1e10 AS e, 12345678901 AS f, 123456789012345678901234 AS g, 0.5 AS h,
    -1 AS i, -1.5 AS j, true AS k, null AS l, '-5'::int AS m, -(-1) AS n, 1::bigint AS o, '1 day'::interval AS p,
    'NaN'::float8 AS q, -2147483648 AS r, '{1,2}'::int[] AS s, 'x'::char(3) AS t, 'abc'::varchar(2) AS u, 1.50::numeric(5, 1) AS v,
    '\xde'::bytea AS w, 'é' AS x, '12:00'::time(2) AS y, interval '3' day AS z, interval '1-2' year to month AS ä;
SELECT whole::text AS a, label::varchar(3) AS b, code::text AS c, price::numeric(5, 1) AS d, whole::numeric(10, 2) AS e, at::date AS f,
    at::timestamp(0) AS g, tod::interval AS h, ints::text[] AS i, ints::bigint[] AS j, whole::boolean AS k, real8::numeric AS l,
    key::text AS m, doc::text AS n, label::jsonb AS o, doc::int AS p, day::timestamp AS q, at::timestamptz AS r, whole::"char" AS s,
    label::name AS t, short::varchar AS u, price::numeric AS v, label::date AS w, nick::text AS x
FROM things;
SELECT CASE WHEN flag THEN 1 ELSE 2.5 END AS a, CASE whole WHEN 1 THEN 'a' WHEN 2 THEN 'b' END AS b,
    CASE short WHEN 'x' THEN 1 END AS c, coalesce(short, 'x') AS d, coalesce(whole, id) AS e, nullif(short, 'a') AS f,
    nullif(whole, 1) AS g, greatest(price, 1) AS h, least(label, short, 'a') AS i, coalesce(price, 0.0) AS j,
    coalesce(short, short) AS k, coalesce(price, price) AS l, CASE WHEN flag THEN price ELSE price END AS m,
    greatest(day, '2020-01-01') AS n, least(at, atz) AS o, nullif(price, 0) AS p, greatest(code, label) AS q
FROM things;
SELECT current_date AS a, current_timestamp AS b, localtimestamp(3) AS c, now() AS d, current_user AS e, current_timestamp(2) AS f,
    current_time AS g, localtime AS h, session_user AS i
FROM things;
SELECT ARRAY[1, 2] AS a, ARRAY[whole, small] AS b, ARRAY[label, 'x'] AS c, ARRAY[]::int[] AS d, ARRAY[[1, 2], [3, 4]] AS e,
    ints[1] AS f, labels[whole] AS g, (ARRAY[[1, 2], [3, 4]])[1][2] AS h, ARRAY[short, short] AS i
FROM things;
SELECT "whole" AS "Order", label AS "select", short AS "a b", code AS "Ünï", 1, label || 'x' AS "?"
FROM things "T"
WHERE "T".id = 1
