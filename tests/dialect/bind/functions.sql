SELECT substring(label FROM 1 FOR 2) AS a, substring(label, 2) AS b, substr(label, 1, 2) AS c, substring(label FROM 'a.') AS d,
    trim(label) AS e, trim(both 'x' FROM label) AS f, ltrim(label) AS g, trim(leading FROM short) AS h, position('a' IN label) AS i,
    overlay(label placing 'x' FROM 1 FOR 2) AS j, upper(short) AS k, length(code) AS l, left(label, 2) AS m,
    concat(label, whole, null, 'x') AS n, concat_ws(',', label, short) AS o, format('%s', whole) AS p, lpad(label, 3) AS q,
    split_part(label, ',', 1) AS r, md5(label) AS s, strpos(label, 'a') AS t, regexp_replace(label, 'a', 'b', 'g') AS u
FROM things;
SELECT round(price, 1) AS a, round(real8) AS b, ceil(price) AS c, floor(real4) AS d, trunc(price) AS e, power(price, 2) AS f,
    sqrt(real8) AS g, mod(whole, 2) AS h, sign(price) AS i, exp(real8) AS j, ln(exact) AS k, div(price, 2) AS l, abs(small) AS m,
    width_bucket(price, 0, 10, 5) AS n, pi() AS o, gcd(whole, 2) AS p
FROM things;
SELECT extract(year FROM day) AS a, extract(epoch FROM at) AS b, date_part('dow', atz) AS c, date_trunc('month', at) AS d,
    atz AT TIME ZONE 'UTC' AS e, at AT TIME ZONE 'UTC' AS f, age(at) AS g, to_char(at, 'YYYY') AS h, make_date(2000, 1, 1) AS i,
    to_timestamp(real8) AS j, date_trunc('day', atz, 'UTC') AS k, extract(day FROM span) AS l, date(at) AS m
FROM things;
SELECT array_length(ints, 1) AS a, cardinality(labels) AS b, array_append(ints, 1) AS c, array_to_string(ints, ',') AS d,
    array_position(ints, 3) AS e, array_cat(ints, ints) AS f, jsonb_build_object('a', whole) AS g, to_jsonb(label) AS h,
    jsonb_typeof(doc) AS i, num_nulls(label, whole) AS j, concat(VARIADIC labels) AS k, string_to_array(label, ',') AS l
FROM things;
SELECT count(*) AS a, count(label) AS b, count(DISTINCT whole) AS c, sum(whole) AS d, sum(id) AS e, sum(price) AS f, sum(real4) AS g,
    sum(real8) AS h, avg(whole) AS i, avg(price) AS j, min(label) AS k, max(short) AS l, min(code) AS m, max(day) AS n,
    bool_and(flag) AS o, every(flag) AS p, string_agg(label, ',' ORDER BY id DESC) AS q, array_agg(whole) AS r,
    array_agg(label ORDER BY label) AS s, sum(span) AS t, stddev(price) AS u, corr(real8, real8) AS v, jsonb_agg(label) AS w,
    max(ints) AS x, min(posix) AS y, sum(small) AS z
FROM things;
SELECT sum(price) FILTER (WHERE flag) AS a, count(DISTINCT label) FILTER (WHERE whole > 1) AS b, count(*) FILTER (WHERE flag) AS c,
    array_agg(DISTINCT whole ORDER BY whole) AS d, count(DISTINCT (whole, small)) AS e
FROM things;
SELECT row_number() OVER (PARTITION BY whole ORDER BY price DESC) AS a, rank() OVER w AS b,
    sum(price) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS c, lag(short, 1) OVER w AS d,
    lead(price, 1, 0.0) OVER w AS e, first_value(label) OVER w AS f, ntile(4) OVER w AS g, count(*) OVER () AS h,
    avg(price) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) AS i,
    sum(price) FILTER (WHERE flag) OVER w AS j, max(id) OVER (x GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS k,
    sum(whole) OVER (ORDER BY day RANGE BETWEEN interval '1 day' PRECEDING AND UNBOUNDED FOLLOWING) AS l
FROM things
WINDOW w AS (PARTITION BY whole ORDER BY id), v AS (PARTITION BY flag), x AS (v ORDER BY label DESC);
SELECT whole, sum(sum(price)) OVER (ORDER BY whole) AS a
FROM things
GROUP BY whole
