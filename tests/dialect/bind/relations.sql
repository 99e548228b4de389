SELECT whole, count(*) FROM things GROUP BY whole HAVING count(*) > 1 ORDER BY 2 DESC, whole LIMIT 3 OFFSET 1;
SELECT whole + 1 AS w, sum(price) FROM things GROUP BY 1 ORDER BY 1;
SELECT lower(label) AS a, count(*) FROM things GROUP BY lower(label) ORDER BY lower(label), count(*) DESC;
SELECT count(*) FROM things HAVING true;
SELECT 1 AS a WHERE false;
SELECT DISTINCT whole, label FROM things ORDER BY label DESC NULLS LAST;
SELECT DISTINCT ON (whole) whole, label FROM things ORDER BY whole, label DESC;
SELECT whole AS label, label AS whole FROM things ORDER BY label, whole DESC;
SELECT label FROM things ORDER BY label COLLATE "C", posix;
SELECT t.id, o.id AS oid, t.label, o.label AS ol FROM things t JOIN others o ON t.id = o.thing_id;
SELECT t.id, o.amount FROM things t LEFT JOIN others o ON t.id = o.thing_id AND o.amount > 1;
SELECT 1 AS a FROM things t LEFT JOIN (others o JOIN others p ON o.id = p.id) ON t.id = o.thing_id;
SELECT t.id FROM things t CROSS JOIN others o, others p;
SELECT id, amount, whole FROM things t FULL JOIN others o USING (id);
SELECT id, label, o.label AS l2 FROM things t FULL JOIN others o USING (id, label);
SELECT id, label FROM things t LEFT JOIN others o USING (id, label);
SELECT id, label FROM things t RIGHT JOIN others o USING (id, label);
SELECT id, label FROM things t JOIN others o USING (label, id);
SELECT * FROM (SELECT id, label FROM things) a NATURAL JOIN (SELECT id, amount FROM others) b;
SELECT id FROM things
WHERE EXISTS (SELECT FROM others WHERE thing_id = things.id) AND id IN (SELECT thing_id FROM others)
    AND whole NOT IN (SELECT id FROM others) AND price > ALL (SELECT amount FROM others)
    AND (id, whole) IN (SELECT thing_id, id FROM others) AND label = ANY (SELECT label FROM others)
    AND small = (SELECT max(id) FROM others WHERE amount > things.price);
SELECT id, (SELECT sum(amount) FROM others WHERE thing_id = things.id) AS s, (SELECT label FROM others LIMIT 1) AS l,
    ARRAY(SELECT o.id FROM others o ORDER BY o.id) AS a
FROM things;
SELECT id FROM things t
WHERE price > (SELECT avg(price) FROM things u
    WHERE u.whole = t.whole AND EXISTS (SELECT 1 FROM others o WHERE o.thing_id = t.id AND o.id = u.whole));
SELECT whole, (SELECT count(*) FROM others o WHERE o.id = sum(t.small)) AS c FROM things t GROUP BY whole;
SELECT whole, (SELECT max(o.id) FROM others o WHERE o.id > whole) AS m FROM things GROUP BY whole
HAVING (SELECT count(*) FROM others) > min(price);
SELECT a.id FROM things a
WHERE (SELECT count(*) FROM (SELECT o.label FROM others o WHERE o.thing_id = a.id
    UNION SELECT b.label FROM things b WHERE b.id = a.id) u) > 1;
WITH a AS (SELECT id, label FROM things), b (x) AS (SELECT a.id FROM a) SELECT a.label, b.x, c.x AS y FROM a, b, b c;
WITH a AS MATERIALIZED (SELECT 1 AS x) SELECT (SELECT x FROM a) AS y, (WITH a AS (SELECT 'b' AS z) SELECT z FROM a) AS w;
SELECT id FROM things UNION ALL SELECT id FROM others;
SELECT id, label, price FROM things UNION SELECT id, label, amount FROM others ORDER BY 1, label LIMIT 3;
SELECT id FROM things EXCEPT SELECT id FROM others INTERSECT SELECT thing_id FROM others;
(SELECT id FROM things ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM others ORDER BY 1 LIMIT 1);
SELECT short FROM things UNION SELECT label FROM others;
SELECT price FROM things UNION ALL SELECT price FROM things;
SELECT whole, null AS n FROM things UNION ALL SELECT small, 'x' FROM things;
SELECT small FROM things WHERE whole IN (SELECT small FROM things UNION SELECT id FROM others WHERE thing_id = things.id);
SELECT posix FROM things UNION SELECT label FROM things;
SELECT * FROM (VALUES (1, 'a', 2.5), (2, 'bb', 3)) v (a, b, c);
VALUES (1, 'a'), (2, null);
SELECT v.column1 FROM (VALUES (1::smallint), (2::bigint)) v;
SELECT t.id, x.s FROM things t, LATERAL (SELECT sum(amount) AS s FROM others o WHERE o.thing_id = t.id) x;
SELECT t.id, x.s FROM things t LEFT JOIN LATERAL (SELECT sum(amount) AS s FROM others o WHERE o.thing_id = t.id) x ON true
