-- Cases of standing queries that once differed from PostgreSQL, or failed. tests/test_fuzz_standing.py plays them.
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
