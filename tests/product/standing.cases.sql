-- Cases of standing queries that once differed from PostgreSQL, or failed. tests/product/test_fuzz_standing.py plays them.
-- What comes before the first query is done before CREATE STANDING QUERY; after it, and after each change, the query
-- is refreshed and compared. A line is a statement; "free" names a column that PostgreSQL may show in several ways.
-- `scripts/fuzz-standing` prints new cases like these.

--- case: equal values, and orders, of intervals, times, arrays, jsonb, enums and domains
CREATE TABLE t1 (id integer PRIMARY KEY, v interval);
INSERT INTO t1 VALUES (1, '1 mon'), (2, '30 days'), (3, '720:00:00'), (4, NULL), (5, '1 us');
INSERT INTO t1 VALUES (6, '178956970 years 7 mons 2147483647 days 2562047788:00:54.775807');
CREATE DOMAIN office AS time(1) CHECK (VALUE < '20:00');
CREATE TABLE t2 (id integer PRIMARY KEY, v time(2), w time[], x office);
INSERT INTO t2 VALUES (1, '12:34:56.78', '{12:00,NULL,00:00:00.000001}', '08:00:00.5'), (2, NULL, NULL, NULL), (3, '23:59:59.99', '{}', '19:59');
CREATE TABLE t3 (id integer PRIMARY KEY, v text[] COLLATE "C", w interval[]);
INSERT INTO t3 VALUES (1, '{}', '{}'), (2, '{a}', '{1 mon}'), (3, '{NULL}', '{NULL}'), (4, NULL, NULL);
INSERT INTO t3 VALUES (5, '{a,NULL}', '{29 days}'), (6, '{a,b}', '{31 days}'), (7, '{"NULL"}', '{-1 us,NULL}');
CREATE TYPE mood AS ENUM ('zeta', 'alpha', 'mid');
CREATE TABLE t4 (id integer PRIMARY KEY, a jsonb, b jsonb, m mood, n mood);
INSERT INTO t4 VALUES (1, '10', '9', 'zeta', 'alpha'), (2, '"b"', 'true', 'mid', 'alpha'), (3, '[]', '"a"', NULL, 'zeta');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TABLE t5 (id integer PRIMARY KEY, m mood, n mood[], p positive, q positive[]);
INSERT INTO t5 VALUES (1, 'mid', '{zeta,NULL}', 1, '{1,2}'), (2, NULL, '{}', 2, NULL), (3, 'alpha', NULL, NULL, '{NULL}'), (4, 'mid', '{zeta,NULL}', 1, '{1,2}');
--- query: q1_of_t1
SELECT t.id, t.v FROM t1 t WHERE t.v = '30 days'::interval;
--- query: q2_of_t1
SELECT t.id AS a, u.id AS b, t.v FROM t1 t JOIN t1 u ON t.v = u.v;
--- query: q3_of_t1
SELECT t.id, -t.v AS e FROM t1 t;
--- query: q_of_t2
SELECT t.id, t.v, t.w, t.x, t.v::time(0) AS rounded, ARRAY[t.v, NULL] AS several FROM t2 t;
--- query: q2_of_t2
SELECT t.v, count(*), min(t.v), max(t.x), array_agg(t.v ORDER BY t.id) FROM t2 t GROUP BY t.v;
--- query: q1_of_t3
SELECT t.id, t.v FROM t3 t ORDER BY t.v DESC NULLS LAST, t.id LIMIT 3;
--- query: q2_of_t3
SELECT t.id, t.w FROM t3 t ORDER BY t.w, t.id LIMIT 4 OFFSET 1;
--- query: q3_of_t3
SELECT array_agg(t.id ORDER BY t.v, t.id) AS by_v, array_agg(t.id ORDER BY t.w DESC, t.id) AS by_w FROM t3 t;
--- query: q_of_t4
SELECT t.id, greatest(t.a, t.b) AS g, least(t.a, t.b, '[1, [2]]'::jsonb) AS l, greatest(t.m, t.n) AS m, least(t.m, t.n) AS n FROM t4 t;
--- query: q1_of_t5
SELECT t.id, t.n, t.q, NULL = ANY (t.n) AS a, t.m = ANY (t.n) AS b FROM t5 t;
--- query: q2_of_t5
SELECT t.n, t.q, count(*) AS n1 FROM t5 t GROUP BY t.n, t.q;
--- query: q3_of_t5
SELECT array_agg(t.m ORDER BY t.id) AS m, array_agg(t.p ORDER BY t.id) AS p, count(DISTINCT t.n) AS n FROM t5 t;
--- query: q4_of_t5
SELECT t.id FROM t5 t WHERE 'zeta' = ANY (t.n);
--- change
UPDATE t1 SET v = '1 mon' WHERE id = 5;
UPDATE t1 SET v = '29 days 24:00:00' WHERE id = 3;
DELETE FROM t1 WHERE id = 1;
UPDATE t2 SET v = '12:34:56.78', w = '{23:59:59.999999}', x = '00:00' WHERE id > 1;
UPDATE t3 SET v = '{b}' WHERE id = 3;
INSERT INTO t3 VALUES (8, '{a,b,c}', '{720:00:00}'), (9, '{NULL,a}', '{1 mon,NULL}');
UPDATE t4 SET a = '[1]', m = 'alpha', n = 'mid' WHERE id = 3;
UPDATE t5 SET m = 'zeta', n = '{mid,alpha}', q = '{7,NULL}' WHERE id = 1;

--- case: values that are out of range, too large or infinite, several at once
CREATE TABLE t1 (id integer PRIMARY KEY, v integer);
INSERT INTO t1 VALUES (1, 0), (2, 2147483647), (3, NULL);
CREATE TABLE t2 (id integer PRIMARY KEY, v timestamp, w timestamp);
INSERT INTO t2 VALUES (1, '2000-01-01 00:00:01.003969', '2000-01-01'), (2, '2024-02-29 01:02:01.016464', NULL), (3, '5138-11-16 09:46:40.000123', '1970-01-01');
INSERT INTO t2 VALUES (4, NULL, NULL), (5, '9999-12-31 23:59:59.999999', '0001-01-01'), (6, '1969-12-31 23:59:59.123457', '2000-01-01');
CREATE TABLE t3 (id integer PRIMARY KEY, v double precision, w real, s text);
INSERT INTO t3 VALUES (1, 1.5, 2.5, '12'), (2, -9223372036854775808, -9.223372e18, E' -7\n');
CREATE TABLE t4 (id integer PRIMARY KEY, g integer, v interval, w interval);
INSERT INTO t4 VALUES (1, 1, '1 mon', '1 day'), (2, 2, '-178956970 years -8 mons', '1 day'), (3, 3, '-1 year -1 mon -25:00', '178956970 years');
INSERT INTO t4 VALUES (4, 4, '-infinity', '1 day'), (5, 1, 'infinity', '-1 mon'), (6, 1, '-1 mon', NULL);
--- query: sound_of_t1
SELECT t.id, t.v FROM t1 t;
--- query: q0_of_t1
SELECT t.id, 1 / t.v AS e FROM t1 t;
--- query: q1_of_t1
SELECT t.id, t.v + 1 AS e FROM t1 t;
--- query: q2_of_t1
SELECT t.id, t.v::smallint AS e FROM t1 t;
--- query: q3_of_t1
SELECT t.id, 5 % t.v AS e FROM t1 t;
--- query: q4_of_t1
SELECT t.id, -2 - t.v AS e FROM t1 t;
--- query: q5_of_t1
SELECT t.id, t.v * 2 AS e FROM t1 t;
--- query: q6_of_t1
SELECT t.id, 10 / (t.v * 1) AS e FROM t1 t;
--- query: q7_of_t1
SELECT t.id, t.v + t.v AS e FROM t1 t;
--- query: q1_of_t2
SELECT t.id, date_part('second', t.v) AS s, date_part('milliseconds', t.v) AS m, date_part('epoch', t.v) AS e FROM t2 t;
--- query: q2_of_t2
SELECT max(date_part('second', t.v)) AS s, array_agg(date_part('milliseconds', t.v) ORDER BY t.id) AS m, array_agg(date_part('epoch', t.v) ORDER BY t.id) AS e FROM t2 t;
--- query: q3_of_t2
SELECT t.id, extract(epoch FROM t.v) AS e, extract(year FROM t.v) AS y, extract(year FROM t.v::date) AS d FROM t2 t;
--- query: q4_of_t2
SELECT t.id, t.v - t.w AS d FROM t2 t;
--- query: q5_of_t2
SELECT array_agg(extract(epoch FROM t.v) ORDER BY t.id) AS e, array_agg(extract(year FROM t.v::date) ORDER BY t.id) AS y, count(*) FILTER (WHERE extract(year FROM t.v) > 2999) AS n FROM t2 t;
--- query: q6_of_t2
SELECT array_agg(t.v - t.w ORDER BY t.id) AS d FROM t2 t;
--- query: q7_of_t2
SELECT sum(extract(epoch FROM t.v + (t.v - t.w))) AS s, max(extract(year FROM date_trunc('month', t.v))) AS y FROM t2 t;
--- query: q1_of_t3
SELECT t.id, t.v::bigint AS e FROM t3 t;
--- query: q2_of_t3
SELECT t.id, t.w::bigint AS e FROM t3 t;
--- query: q3_of_t3
SELECT t.id, t.s::integer AS e FROM t3 t;
--- query: q4_of_t3
SELECT sum(t.s::integer) AS e FROM t3 t;
--- query: q1_of_t4
SELECT t.id, t.v + t.w AS e FROM t4 t;
--- query: q2_of_t4
SELECT t.id, -t.w AS e FROM t4 t;
--- query: q3_of_t4
SELECT array_agg(t.v - t.w ORDER BY t.id) AS e FROM t4 t;
--- query: q4_of_t4
SELECT t.id, t.v::interval year AS a, t.v::interval month AS b, t.v::interval day AS c, t.v::interval hour to minute AS d FROM t4 t;
--- query: q5_of_t4
SELECT t.g, sum(t.v) AS s FROM t4 t GROUP BY t.g;
--- change
UPDATE t1 SET v = 5 WHERE id < 3;
UPDATE t2 SET v = 'infinity' WHERE id = 2;
UPDATE t2 SET v = '-infinity' WHERE id = 4;
UPDATE t2 SET v = '3000-01-01 00:00:02.0081', w = '-infinity' WHERE id = 6;
UPDATE t3 SET v = 9223372036854775808, w = 9223372036854775808, s = '99999999999999999999999' WHERE id = 1;
UPDATE t4 SET v = '-2147483648 days', w = '-1 day' WHERE id = 1;
UPDATE t4 SET g = 2 WHERE id = 3;
--- change
UPDATE t3 SET v = 'NaN', w = 'Infinity', s = E'1\u2028' WHERE id = 1;
UPDATE t4 SET v = '1 day', w = '-2147483648 days', g = 4 WHERE id = 5;
UPDATE t4 SET w = '1 mon' WHERE id = 1;
UPDATE t4 SET g = 1 WHERE id = 3;

--- case: a database with settings of its own for how values are read and written
CREATE TABLE t (id integer PRIMARY KEY, d date, i interval, b bytea, f double precision, z timestamptz, a text[]);
INSERT INTO t VALUES (1, '2000-02-01', '-1 mon 2 days -03:04:05.6', '\xdeadbeef', 0.1, '2000-02-01 12:00+00', '{a,NULL}'), (2, '1999-12-31', '1 mon', '\x00', 1.1, '1999-12-31 00:00+00', ARRAY[NULL, 'NULL']);
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET DateStyle = German, DMY', current_database()); END $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET IntervalStyle = ''sql_standard''', current_database()); END $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET bytea_output = ''escape''', current_database()); END $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET extra_float_digits = ''-15''', current_database()); END $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET TimeZone = ''Asia/Kathmandu''', current_database()); END $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = ''off''', current_database()); END $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET array_nulls = ''off''', current_database()); END $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''serializable''', current_database()); END $$;
SET DateStyle = German, DMY;
SET IntervalStyle = sql_standard;
SET bytea_output = escape;
SET extra_float_digits = -15;
SET standard_conforming_strings = off;
SET array_nulls = off;
--- query: q1
SELECT t.id, t.d, t.i, t.b, t.f, t.z, t.a FROM t;
--- query: q2
SELECT t.id FROM t WHERE t.d > '01.01.2000'::date OR t.i = '1 mon'::interval OR t.b = 'a'::bytea;
--- query: q3
SELECT t.z, t.f, t.a, max(t.d), sum(t.i), count(*) FROM t WHERE t.z > '1999-01-01 00:00+05:45'::timestamptz AND t.f > 0.1 GROUP BY t.z, t.f, t.a;
--- query: texts
SELECT t.id, t.b::text AS b, t.f::text AS f, t.f::real::text AS r, md5(t.b::text || t.f::text) AS m FROM t;
--- query: q4
SELECT t.id, t.a FROM t WHERE 'NULL' = ANY (t.a);
--- change
UPDATE t SET f = 0.30000000000000004, z = '2001-01-01 00:00:00.000001+00', d = '2001-03-02', i = '-1 year', b = 'b' WHERE id = 1;
--- restart
--- change
INSERT INTO t VALUES (3, '0044-03-15 BC', '1 day -00:00:01', '\\\\', 5e-324, '0044-03-15 00:00+00 BC', '{NULL}');
UPDATE t SET f = 2.2250738585072014e-308, i = '-1 mon -1 day -00:00:01' WHERE id = 2;

--- case: what PostgreSQL computes of texts under collations of other names
CREATE COLLATION "My" FROM "C";
CREATE TABLE t1 (id integer PRIMARY KEY, c1 text COLLATE "ucs_basic", c2 text COLLATE "POSIX", d text, v varchar(20) COLLATE "ucs_basic", a text[] COLLATE "ucs_basic", n name, m text COLLATE "My", g1 text GENERATED ALWAYS AS (upper(c1) || '!') STORED, g2 text COLLATE "ucs_basic" GENERATED ALWAYS AS (upper(d) || '!') STORED, g3 text COLLATE "C" GENERATED ALWAYS AS (lower(m) || upper(d COLLATE "ucs_basic")) STORED);
INSERT INTO t1 (id, c1, c2, d, v, a, n, m) VALUES (1, 'éaÉI'::text, 'éaÉI', 'éaÉI', 'éaÉI', '{éaÉI,b,B,ç}', 'éaÉI', 'éaÉI'), (2, 'z', 'É', 'I', 'i', '{I}', 'é', 'I'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
--- query: of_columns
SELECT id, upper(c1) AS e1, lower(c2) AS e2, lower(v) AS e3, initcap(v) AS e4, initcap(c1) AS e5, upper(n::text) AS e6, lower(m) AS e7, c2 FROM t1;
--- query: of_generated_ones
SELECT id, g1 AS e1, md5(g1) AS e2, g2 AS e3, upper(g1) AS e4, upper(g2) AS e5, g3 AS e6, upper(g3) AS e7 FROM t1;
--- query: under_named_ones
SELECT id, upper(d COLLATE "POSIX") AS e1, upper(d COLLATE "ucs_basic") AS e2, lower('É' COLLATE "ucs_basic") || d AS e3, lower((c2 COLLATE "C")::varchar(10)) AS e4, lower(c2 COLLATE "default") AS e5 FROM t1;
--- query: of_comparisons
SELECT id, c1 < c2 COLLATE "C" AS e1, greatest(c1, 'z') AS e2, c2 < 'z' AS e3, c2 ~* 'É' AS e4, c2 ILIKE 'É%' AS e5, nullif(c2, 'z') AS e6, c2 IS DISTINCT FROM 'z' AS e7, c2 IN ('z', 'É') AS e8, c2 > ANY (ARRAY['a', 'é']) AS e9, least(v, 'é', d) AS e10 FROM t1;
--- query: of_chosen_ones
SELECT id, lower(coalesce(c2, 'É')) AS e1, lower(CASE WHEN id > 1 THEN c2 ELSE d END) AS e2, lower(c2 || 'É') AS e3, lower('É' || left(c2, 3)) AS e4, upper('é' || d) AS e5, lower(nullif(v, 'i')) AS e6 FROM t1;
--- query: in_conflict
SELECT id, (upper(c1) || lower(c2)) COLLATE "C" AS e1, CASE WHEN id > 1 THEN upper(c1) ELSE lower(c2) END COLLATE "C" AS e2, length(coalesce(lower(c2), upper(c1))) AS e3, upper((c1 || c2) COLLATE "ucs_basic") AS e4, ARRAY[upper(c1), lower(c2)] COLLATE "C" AS e5 FROM t1;
--- query: of_aggregates
SELECT lower(max(c2 COLLATE "C") COLLATE "ucs_basic") AS e1, lower(string_agg(c2, 'É' ORDER BY id)) AS e2 FROM t1;
--- query: of_groups
SELECT lower(c2) AS e1, count(*) AS e2 FROM t1 GROUP BY c2;
--- query: of_layers
SELECT s.id, upper((s.x || s.y) COLLATE "C") AS e1, lower(s.z) AS e2 FROM (SELECT id, d COLLATE "ucs_basic" AS x, lower(c2) AS y, upper(c1) AS z FROM t1) AS s;
--- change
UPDATE t1 SET c1 = c1 || 'ß', c2 = c2 || 'Iß', d = d || 'iß', v = v || 'É', n = n || 'é', m = m || 'É';
DELETE FROM t1 WHERE id = 2;

--- case: arithmetic of floats many calls deep, inside aggregates and conditions
CREATE TABLE t1 (id integer PRIMARY KEY, c real, d double precision, s text COLLATE "C");
INSERT INTO t1 VALUES (1, 0.1, -1.5, 'abc'), (2, -0, 0, 'éa'), (3, 3.4028235e+38, 1e300, ''), (4, NULL, NULL, NULL), (5, 'NaN', 'Infinity', 'z'), (6, 1.6172470976315665, 4095.9, 'ab');
--- query: averages
SELECT t.id % 2 AS k, avg(CASE WHEN abs(t.c) <= 4096 AND t.c <> 0 THEN round(t.c * 8) / 8 + 0 WHEN abs(t.c) > 4096 AND abs(t.c) < 'Infinity' THEN 0.5 ELSE t.c END::real) AS e1, avg(CASE WHEN abs(t.d) <= 4096 AND t.d <> 0 THEN round(t.d * 8) / 8 + 0 WHEN abs(t.d) > 4096 AND abs(t.d) < 'Infinity' THEN 0.5 ELSE t.d END) AS e2 FROM t1 t GROUP BY t.id % 2;
--- query: of_products
SELECT max((((((t.d * 0.5 + 1) / 3 - t.c) * 0.25 + 2) / 7 + t.d / 9) * 0.125 - 3) / 5) AS e1, min(-(-(-((t.c / 3 + 1) / 3 + 1) / 3 + 1) / 3 + 1) / 3) AS e2 FROM t1 t WHERE (((t.d / 3 + 1) / 3 + 1) / 3 + 1) / 3 < 1e250;
--- query: of_texts
SELECT right(lpad(substring(right(lpad(substring(right(t.s, 3) || 'é', 1, 4), 6, 'xy'), 5), 2, 4), 7, 'z'), 6) AS k, count(*) AS n, max(right(lpad(right(lpad(right(lpad(t.s, 3, 'a'), 2), 3, 'b'), 2), 3, 'c'), -1)) AS e1 FROM t1 t GROUP BY right(lpad(substring(right(lpad(substring(right(t.s, 3) || 'é', 1, 4), 6, 'xy'), 5), 2, 4), 7, 'z'), 6);
--- change
UPDATE t1 SET c = d, d = c WHERE id IN (1, 2, 6);
UPDATE t1 SET s = s || 'é' WHERE id > 2;
DELETE FROM t1 WHERE id = 5;

--- case: minus zero where no other zero is
CREATE TABLE t1 (id integer PRIMARY KEY, d double precision, r real, k integer);
INSERT INTO t1 VALUES (1, '-0', '-0', 1), (2, '-0', '-0', 1), (3, 1, 1, 2), (4, NULL, NULL, 2);
--- query: q1
SELECT DISTINCT t.d AS e0 FROM t1 t;
--- free 0: SELECT t.d FROM t1 t;
--- query: q2
SELECT t.r AS e0, count(*) AS n FROM t1 t GROUP BY t.r;
--- free 0: SELECT t.r FROM t1 t;
--- query: q3
SELECT t.d AS e0 FROM t1 t UNION SELECT t.d FROM t1 t;
--- free 0: SELECT t.d FROM t1 t;
--- query: q4
SELECT t.d AS e0 FROM t1 t EXCEPT SELECT t.d FROM t1 t WHERE t.k = 2;
--- free 0: SELECT t.d FROM t1 t;
--- query: q5
SELECT min(t.d) AS e0, max(t.d) AS e1, min(t.r) AS e2 FROM t1 t WHERE t.k = 1;
--- query: q6
SELECT array_agg(DISTINCT t.d) AS e0, min(DISTINCT t.r) AS e2 FROM t1 t WHERE t.k = 1;
--- query: q7
SELECT t.k AS e0, sum(t.d) AS e1, avg(t.d) AS e2 FROM t1 t GROUP BY t.k;
--- change
INSERT INTO t1 VALUES (5, '-0', '-0', 1);
--- change
DELETE FROM t1 WHERE id = 1;

--- case: minus zero in arrays
CREATE TABLE t0 (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, c3 real[], d double precision[]);
--- query: q8
SELECT t.id AS e0, t.c3 AS e1 FROM t0 t UNION ALL SELECT v.* FROM (VALUES (0, '{0.1,NULL}'::real[]), (1, '{-0}'::real[]), (2, '{1.5,NaN}'::real[])) v;
--- query: q9
SELECT t.id AS e0, (SELECT u.d FROM t0 u WHERE u.id = t.id + 1) AS e1, t.d AS e2 FROM t0 t;
--- change
INSERT INTO t0 (c3, d) VALUES ('{-0,0}', '{0,-0}'), ('{0,-0}', '{-0}'), ('{-0}', '{NULL,-0,NULL}');
--- change
UPDATE t0 SET c3 = d, d = c3 WHERE id < 3;

--- case: keys of which one cannot be hashed, so that its rows are not kept by key
CREATE TABLE t1 (id integer PRIMARY KEY, v numeric);
INSERT INTO t1 VALUES (1, 'NaN'), (2, 1.5), (3, 100000000000000000000000000000000000000000.5), (4, NULL);
CREATE TABLE t2 (id integer PRIMARY KEY, w numeric(8,2));
INSERT INTO t2 VALUES (1, 1.50), (2, 2.50), (3, NULL);
--- query: q1
SELECT t.id, t.w FROM t2 t WHERE EXISTS (SELECT 1 FROM t1 u WHERE u.v = t.w);
--- query: q2
SELECT t.id, u.id AS other FROM t2 t JOIN t1 u ON u.v = t.w;
--- query: q3
SELECT count(*) AS n FROM t2 t;
--- change
UPDATE t2 SET w = 1.5 WHERE id = 2;
--- change
INSERT INTO t2 VALUES (4, 1.5);
UPDATE t1 SET v = 3 WHERE id = 2;

--- case: products that no decimal holds
CREATE TABLE t1 (c5 double precision, c3 numeric(8,2), id integer, c7 numeric(30,12), g3 numeric GENERATED ALWAYS AS (c3 + 0.50) STORED, c0 numeric(30,12)) PARTITION BY RANGE (id);
CREATE TABLE t1_a PARTITION OF t1 FOR VALUES FROM (MINVALUE) TO (5);
CREATE TABLE t1_b PARTITION OF t1 FOR VALUES FROM (5) TO (9) PARTITION BY HASH (id);
CREATE TABLE t1_c PARTITION OF t1 DEFAULT;
CREATE TABLE t1_d PARTITION OF t1_b FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO t1 (id, c0, c3, c5, c7) VALUES (8, '123456789012345678.123456789012'::numeric(30,12), '-2.25'::numeric(8,2), '2'::double precision, '-1.5'::numeric(30,12));
--- query: q5
SELECT array_agg((t.c7 * t.c0) ORDER BY t.id) AS e4 FROM t1 t WHERE t.c5 = t.c5 GROUP BY t.g3, t.c5;
--- change
INSERT INTO t1 (id, c0, c3, c5, c7) VALUES (9, 1.5, -2.25, 2, 123456789012345678), (1, NULL, -2.25, 2, 3);
--- change
DELETE FROM t1 WHERE id = 8;

--- case: numerics that no decimal holds together are compared, joined and chosen among
CREATE TABLE t0 (id integer PRIMARY KEY, a numeric(30,12), b integer);
CREATE TABLE t1 (id integer PRIMARY KEY, c numeric(38,0), d numeric);
INSERT INTO t0 VALUES (1, 1, 1), (2, 999999999999999999.999999999999, NULL), (3, 12, 7), (4, NULL, 2), (5, 0.000000000001, 3);
INSERT INTO t1 VALUES (1, 1, 1.0), (2, 999999999999999999999999999, 2), (3, -99999999999999999999999999999999999999, NULL), (4, NULL, 12), (5, 12, 0.000000000001);
--- query: antijoin
SELECT t.id, t.c FROM t1 t WHERE NOT EXISTS (SELECT 1 FROM t0 u WHERE u.a = t.c AND u.b IS NOT NULL);
--- query: every
SELECT t.c FROM t1 t WHERE t.c < ALL (SELECT u.a FROM t0 u WHERE u.a IS NOT NULL);
--- query: joined
SELECT t.id AS i, u.id AS j, t.c, u.a FROM t1 t JOIN t0 u ON u.a = t.c;
--- query: beside
SELECT t.id AS i, u.id AS j FROM t1 t LEFT JOIN t0 u ON u.a < t.c AND u.b > 1;
--- query: not_distinct
SELECT t.id AS i, u.id AS j FROM t1 t JOIN t0 u ON u.a IS NOT DISTINCT FROM t.c;
--- query: computed
SELECT t.id AS i, u.id AS j FROM t1 t JOIN t0 u ON u.a + 1 = t.c OR t.d + 1 > t.c OR u.a - 1 >= t.d;
--- query: chosen
SELECT t.id AS i, u.id AS j FROM t1 t JOIN t0 u ON coalesce(u.a, t.c) > 11 AND greatest(u.a, t.c) >= t.d;
--- query: grouped
SELECT CASE WHEN u.b > 2 THEN u.a ELSE t.c END AS k, count(*) AS n FROM t1 t JOIN t0 u ON u.id = t.id GROUP BY 1;
--- query: united
SELECT c AS k FROM t1 UNION SELECT a FROM t0;
--- free 0: SELECT c FROM t1 UNION ALL SELECT a FROM t0;
--- change
UPDATE t0 SET a = 12 WHERE id = 4;
UPDATE t1 SET c = 99999999999999999999999999999999999999 WHERE id = 1;
INSERT INTO t1 VALUES (6, 999999999999999999, 999999999999999999.999999999999);
DELETE FROM t0 WHERE id = 1;

--- case: averages and sums of distinct floats, with conditions and beside other aggregates
CREATE TABLE t1 (id integer PRIMARY KEY, k integer, d double precision, r real);
INSERT INTO t1 VALUES (1, 1, 1.5, 0.5), (2, 1, 1.5, 0.5), (3, 1, 4.25, 0.25), (4, 2, '-0', '-0'), (5, 2, NULL, NULL), (6, 3, 'NaN', 'Infinity'), (7, NULL, 2, 3);
--- query: by_k
SELECT t.k, avg(DISTINCT t.d) AS a, avg(DISTINCT t.r) AS b, sum(DISTINCT t.d) AS c, sum(t.d) AS d, count(*) AS n FROM t1 t GROUP BY t.k;
--- query: filtered
SELECT avg(DISTINCT t.d) FILTER (WHERE t.k < 3) AS a, sum(DISTINCT t.r) FILTER (WHERE t.k = 1) AS b, avg(t.d) FILTER (WHERE t.k IS NULL) AS c FROM t1 t;
--- query: within
SELECT t.k, t.d FROM t1 t WHERE t.d < (SELECT avg(DISTINCT u.d) FROM t1 u WHERE u.k <= 2 AND u.id <> t.id);
--- change
UPDATE t1 SET d = 2.5 WHERE id = 2;
UPDATE t1 SET r = 'NaN' WHERE id = 3;
DELETE FROM t1 WHERE id = 6;
INSERT INTO t1 VALUES (8, 2, 8, '-Infinity'), (9, 2, 8, 16);
