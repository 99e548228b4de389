SELECT small + whole AS a, whole + id AS b, real4 * real8 AS c, price * 2 AS d, exact / 3 AS e, - whole AS f, - price AS g,
    whole % 3 AS h, whole ^ 2 AS i, price * 1.5 + whole / 2 - small % 2 AS j, 2 - (3 - whole) AS k, whole * -2 AS l
FROM things;
SELECT price > whole AS a, real4 = 1.5 AS b, real4 > price AS c, exact BETWEEN 1 AND whole AS d, (whole > 1) = flag AS e,
    whole BETWEEN SYMMETRIC 3 AND 1 AS f, label < short AS g, code = 'x' AS h, day < at AS i, atz > day AS j
FROM things;
SELECT label LIKE 'a%' AS a, short NOT LIKE 'b%' AS b, label ILIKE 'x' AS c, label NOT ILIKE 'y' AS d, label ~ 'x' AS e,
    label !~ 'y' AS f, label ~* 'z' AS g, label !~* 'z' AS h, code LIKE 'x%' AS i, label SIMILAR TO 'a(b)' AS j
FROM things;
SELECT flag IS TRUE AS a, flag IS NOT TRUE AS b, flag IS UNKNOWN AS c, flag IS NOT UNKNOWN AS d, label IS NULL AS e,
    label IS NOT NULL AS f, whole IS DISTINCT FROM small AS g, whole IS NOT DISTINCT FROM 3 AS h, NOT flag AS i,
    flag AND whole > 1 OR price < 3 AS j, (flag OR flag) AND flag AS k, flag IS FALSE AS l
FROM things;
SELECT whole IN (1, 2, 3) AS a, whole NOT IN (1, 2) AS b, label IN ('a', 'b') AS c, short IN ('a') AS d, code IN ('a', 'b') AS e,
    whole = ANY (ints) AS f, label = ANY (labels) AS g, whole <> ALL (ARRAY[1, 2]) AS h, short = ANY (ARRAY['a', 'b']) AS i,
    label LIKE ANY (ARRAY['a%', 'b%']) AS j
FROM things;
SELECT row(whole, small) < row(1, 2) AS a, (whole, small) = (1, 2) AS b, (whole, label) >= (1, 'a') AS c, row(whole, 1) IS NULL AS d
FROM things;
SELECT + whole AS x, @ whole AS y, |/ real8 AS z, whole & 1 AS a, whole | 2 AS b, whole # 3 AS c, ~ whole AS d, whole << 1 AS e, whole >> 1 AS f
FROM things;
SELECT day + 1 AS a, day - day AS b, day + interval '1 month' AS c, at + span AS d, atz - atz AS e, day + tod AS f, span * 2 AS g
FROM things;
SELECT doc -> 'a' AS a, doc ->> 'b' AS b, doc -> 0 AS c, doc #> '{a,b}' AS d, doc #>> '{a}' AS e, doc @> '{"a": 1}' AS f,
    doc ? 'a' AS g, doc || '{"a": 2}' AS h, doc ->> 0 AS i, doc - 'a' AS j
FROM things;
SELECT short || 'x' AS a, label || whole AS b, ints || 3 AS c, ints @> ARRAY[1] AS d, ints && ARRAY[2] AS e, ints = ARRAY[1] AS f
FROM things;
SELECT label COLLATE "C" AS a, label < short COLLATE "POSIX" AS b, posix AS c, posix || label AS d, label COLLATE "C" || label AS e,
    coalesce(posix, label) AS f, posix = 'x' AS g, upper(posix) AS h, CASE WHEN flag THEN posix ELSE label END AS i
FROM things
