-- Cases of standing queries that once differed from PostgreSQL, or failed. tests/product/test_fuzz_standing.py plays them.
-- What comes before the first query is done before CREATE STANDING QUERY; after it, and after each change, the query
-- is refreshed and compared. A line is a statement; "free" names a column that PostgreSQL may show in several ways.
-- `scripts/fuzz-standing` prints new cases like these.

--- case: intervals that are equal and written differently
CREATE TABLE t (id integer PRIMARY KEY, v interval);
INSERT INTO t VALUES (1, '1 mon'), (2, '30 days'), (3, '720:00:00'), (4, NULL), (5, '1 us');
--- query: q1
SELECT t.id, t.v FROM t WHERE t.v = '30 days'::interval;
--- query: q2
SELECT t.id AS a, u.id AS b, t.v FROM t JOIN t u ON t.v = u.v;
--- change
UPDATE t SET v = '1 mon' WHERE id = 5;
UPDATE t SET v = '29 days 24:00:00' WHERE id = 3;
DELETE FROM t WHERE id = 1;

--- case: times of a precision, in arrays and of a domain
CREATE DOMAIN office AS time(1) CHECK (VALUE < '20:00');
CREATE TABLE t (id integer PRIMARY KEY, v time(2), w time[], x office);
INSERT INTO t VALUES (1, '12:34:56.78', '{12:00,NULL,00:00:00.000001}', '08:00:00.5'), (2, NULL, NULL, NULL), (3, '23:59:59.99', '{}', '19:59');
--- query: q
SELECT t.id, t.v, t.w, t.x, t.v::time(0) AS rounded, ARRAY[t.v, NULL] AS several FROM t;
--- query: q2
SELECT t.v, count(*), min(t.v), max(t.x), array_agg(t.v ORDER BY t.id) FROM t GROUP BY t.v;
--- change
UPDATE t SET v = '12:34:56.78', w = '{23:59:59.999999}', x = '00:00' WHERE id > 1;

--- case: an order of arrays, in which NULL comes after all other elements
CREATE TABLE t (id integer PRIMARY KEY, v text[] COLLATE "C", w interval[]);
INSERT INTO t VALUES (1, '{}', '{}'), (2, '{a}', '{1 mon}'), (3, '{NULL}', '{NULL}'), (4, NULL, NULL);
INSERT INTO t VALUES (5, '{a,NULL}', '{29 days}'), (6, '{a,b}', '{31 days}'), (7, '{"NULL"}', '{-1 us,NULL}');
--- query: q1
SELECT t.id, t.v FROM t ORDER BY t.v DESC NULLS LAST, t.id LIMIT 3;
--- query: q2
SELECT t.id, t.w FROM t ORDER BY t.w, t.id LIMIT 4 OFFSET 1;
--- query: q3
SELECT array_agg(t.id ORDER BY t.v, t.id) AS by_v, array_agg(t.id ORDER BY t.w DESC, t.id) AS by_w FROM t;
--- change
UPDATE t SET v = '{b}' WHERE id = 3;
INSERT INTO t VALUES (8, '{a,b,c}', '{720:00:00}'), (9, '{NULL,a}', '{1 mon,NULL}');

--- case: the greatest and the least of values that are not ordered by their texts
CREATE TYPE mood AS ENUM ('zeta', 'alpha', 'mid');
CREATE TABLE t (id integer PRIMARY KEY, a jsonb, b jsonb, m mood, n mood);
INSERT INTO t VALUES (1, '10', '9', 'zeta', 'alpha'), (2, '"b"', 'true', 'mid', 'alpha'), (3, '[]', '"a"', NULL, 'zeta');
--- query: q
SELECT t.id, greatest(t.a, t.b) AS g, least(t.a, t.b, '[1, [2]]'::jsonb) AS l, greatest(t.m, t.n) AS m, least(t.m, t.n) AS n FROM t;
--- change
UPDATE t SET a = '[1]', m = 'alpha', n = 'mid' WHERE id = 3;

--- case: several queries that raise errors, refreshed together
CREATE TABLE t (id integer PRIMARY KEY, v integer);
INSERT INTO t VALUES (1, 0), (2, 2147483647), (3, NULL);
--- query: sound
SELECT t.id, t.v FROM t;
--- query: q0
SELECT t.id, 1 / t.v AS e FROM t;
--- query: q1
SELECT t.id, t.v + 1 AS e FROM t;
--- query: q2
SELECT t.id, t.v::smallint AS e FROM t;
--- query: q3
SELECT t.id, 5 % t.v AS e FROM t;
--- query: q4
SELECT t.id, -2 - t.v AS e FROM t;
--- query: q5
SELECT t.id, t.v * 2 AS e FROM t;
--- query: q6
SELECT t.id, 10 / (t.v * 1) AS e FROM t;
--- query: q7
SELECT t.id, t.v + t.v AS e FROM t;
--- change
UPDATE t SET v = 5 WHERE id < 3;

--- case: fields of moments as floats, and of infinite ones
CREATE TABLE t (id integer PRIMARY KEY, v timestamp, w timestamp);
INSERT INTO t VALUES (1, '2000-01-01 00:00:01.003969', '2000-01-01'), (2, '2024-02-29 01:02:01.016464', NULL), (3, '5138-11-16 09:46:40.000123', '1970-01-01');
INSERT INTO t VALUES (4, NULL, NULL), (5, '9999-12-31 23:59:59.999999', '0001-01-01'), (6, '1969-12-31 23:59:59.123457', '2000-01-01');
--- query: q1
SELECT t.id, date_part('second', t.v) AS s, date_part('milliseconds', t.v) AS m, date_part('epoch', t.v) AS e FROM t;
--- query: q2
SELECT max(date_part('second', t.v)) AS s, array_agg(date_part('milliseconds', t.v) ORDER BY t.id) AS m, array_agg(date_part('epoch', t.v) ORDER BY t.id) AS e FROM t;
--- query: q3
SELECT t.id, extract(epoch FROM t.v) AS e, extract(year FROM t.v) AS y, extract(year FROM t.v::date) AS d FROM t;
--- query: q4
SELECT t.id, t.v - t.w AS d FROM t;
--- change
UPDATE t SET v = 'infinity' WHERE id = 2;
UPDATE t SET v = '-infinity' WHERE id = 4;
UPDATE t SET v = '3000-01-01 00:00:02.0081', w = '-infinity' WHERE id = 6;

--- case: integers of floats and of texts that are too large for them
CREATE TABLE t (id integer PRIMARY KEY, v double precision, w real, s text);
INSERT INTO t VALUES (1, 1.5, 2.5, '12'), (2, -9223372036854775808, -9.223372e18, E' -7\n');
--- query: q1
SELECT t.id, t.v::bigint AS e FROM t;
--- query: q2
SELECT t.id, t.w::bigint AS e FROM t;
--- query: q3
SELECT t.id, t.s::integer AS e FROM t;
--- query: q4
SELECT sum(t.s::integer) AS e FROM t;
--- change
UPDATE t SET v = 9223372036854775808, w = 9223372036854775808, s = '99999999999999999999999' WHERE id = 1;
--- change
UPDATE t SET v = 'NaN', w = 'Infinity', s = E'1\u2028' WHERE id = 1;

--- case: intervals that become too large, and infinite ones
CREATE TABLE t (id integer PRIMARY KEY, g integer, v interval, w interval);
INSERT INTO t VALUES (1, 1, '1 mon', '1 day'), (2, 2, '-178956970 years -8 mons', '1 day'), (3, 3, '-1 year -1 mon -25:00', '178956970 years');
INSERT INTO t VALUES (4, 4, '-infinity', '1 day'), (5, 1, 'infinity', '-1 mon'), (6, 1, '-1 mon', NULL);
--- query: q1
SELECT t.id, t.v + t.w AS e FROM t;
--- query: q2
SELECT t.id, -t.w AS e FROM t;
--- query: q3
SELECT array_agg(t.v - t.w ORDER BY t.id) AS e FROM t;
--- query: q4
SELECT t.id, t.v::interval year AS a, t.v::interval month AS b, t.v::interval day AS c, t.v::interval hour to minute AS d FROM t;
--- query: q5
SELECT t.g, sum(t.v) AS s FROM t GROUP BY t.g;
--- change
UPDATE t SET v = '-2147483648 days', w = '-1 day' WHERE id = 1;
UPDATE t SET g = 2 WHERE id = 3;
--- change
UPDATE t SET v = '1 day', w = '-2147483648 days', g = 4 WHERE id = 5;
UPDATE t SET w = '1 mon' WHERE id = 1;
UPDATE t SET g = 1 WHERE id = 3;

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
--- query: q4
SELECT t.id, t.a FROM t WHERE 'NULL' = ANY (t.a);
--- change
UPDATE t SET f = 0.30000000000000004, z = '2001-01-01 00:00:00.000001+00', d = '2001-03-02', i = '-1 year', b = 'b' WHERE id = 1;
--- restart
--- change
INSERT INTO t VALUES (3, '0044-03-15 BC', '1 day -00:00:01', '\\\\', 5e-324, '0044-03-15 00:00+00 BC', '{NULL}');
UPDATE t SET f = 2.2250738585072014e-308, i = '-1 mon -1 day -00:00:01' WHERE id = 2;

--- case: arrays of enums and of domains
CREATE TYPE mood AS ENUM ('zeta', 'alpha', 'mid');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TABLE t (id integer PRIMARY KEY, m mood, n mood[], p positive, q positive[]);
INSERT INTO t VALUES (1, 'mid', '{zeta,NULL}', 1, '{1,2}'), (2, NULL, '{}', 2, NULL), (3, 'alpha', NULL, NULL, '{NULL}'), (4, 'mid', '{zeta,NULL}', 1, '{1,2}');
--- query: q1
SELECT t.id, t.n, t.q, NULL = ANY (t.n) AS a, t.m = ANY (t.n) AS b FROM t;
--- query: q2
SELECT t.n, t.q, count(*) AS n1 FROM t GROUP BY t.n, t.q;
--- query: q3
SELECT array_agg(t.m ORDER BY t.id) AS m, array_agg(t.p ORDER BY t.id) AS p, count(DISTINCT t.n) AS n FROM t;
--- query: q4
SELECT t.id FROM t WHERE 'zeta' = ANY (t.n);
--- change
UPDATE t SET m = 'zeta', n = '{mid,alpha}', q = '{7,NULL}' WHERE id = 1;
