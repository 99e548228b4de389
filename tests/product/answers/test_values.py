"""Answers over values at the edges of their types: PostgreSQL's as values and as texts (G1, G6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.support.answers.answering import differences, refresh, unlike, wait_until_answered
from tests.support.running.servers import Server, gavial
from tests.support.running.standing_databases import drop_database, fresh_database, session
from tests.support.versions import batches, versions

pytestmark = pytest.mark.service


@pytest.fixture(scope="module", params=versions(18))
def server(request: pytest.FixtureRequest) -> Server:
    found = request.getfixturevalue(f"postgres{request.param}")
    assert isinstance(found, Server)
    return found


@dataclass(frozen=True)
class Place:
    """A database whose queries are compared after every change, and after a restart."""

    server: Server
    data: Path
    name: str

    def follow(
        self, tables: str, queries: Mapping[str, str], changes: Sequence[str], later: Sequence[str]
    ) -> None:
        """Make the tables and the queries, apply the changes one by one, the later ones after a restart."""
        with psycopg.connect(self.server.dsn(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {self.name}".encode())
        with gavial(upstream=self.server, data=self.data) as proxy:
            self._make(proxy.dsn(dbname=self.name), tables, queries)
            self._change(proxy.dsn(dbname=self.name), queries, changes)
        with gavial(upstream=self.server, data=self.data) as proxy:
            self._change(proxy.dsn(dbname=self.name), queries, later)
            with session(proxy.dsn()) as admin:
                drop_database(admin, self.name)

    def _make(self, dsn: str, tables: str, queries: Mapping[str, str]) -> None:
        with session(dsn) as user:
            user.execute(tables.encode())
            for name, text in queries.items():
                user.execute(f"CREATE STANDING QUERY {name} AS {text} WITH NO DATA".encode())
            wait_until_answered(user, queries)

    def _change(self, dsn: str, queries: Mapping[str, str], changes: Sequence[str]) -> None:
        """The rows are compared as texts, since equal values may be written differently."""
        with session(dsn) as user:
            for change in ("SELECT", *batches(changes)):
                user.execute(change.encode())
                refresh(user, *queries)
                wrong = {name: rows for name in queries if (rows := unlike(user, name))}
                assert not wrong, (change, wrong)


@pytest.fixture
def place(server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return Place(server, tmp_path / "data", re.sub(r"\W+", "_", request.node.name))


FLOATS = """
    CREATE TABLE t (id int PRIMARY KEY, f float8, r float4, a float8[]);
    INSERT INTO t VALUES (1, 0, 0, '{0}'), (2, '-0', '-0', '{-0}'), (3, 'NaN', 'NaN', '{NaN,NULL}'),
        (4, '-Infinity', '-Infinity', '{}'), (5, 1.5, 1.5, NULL), (6, NULL, NULL, '{1,-0,2}'),
        (7, '5e-324', '1e-45', '{0,-0}'), (8, '-0', '-0', '{-0}');
    CREATE TABLE u (g float8, s float4);
    INSERT INTO u VALUES ('-0', '-0'), (1.5, 1.5), ('NaN', 'NaN')
"""
OF_FLOATS = {
    "equal": "SELECT id FROM t WHERE f = 0",
    "one_of": "SELECT id FROM t WHERE f IN (0, 7, 8) OR r IN (0::real, 3::real)",
    "one_of_many": "SELECT id FROM t WHERE f IN (-0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)",
    "any_of": "SELECT id FROM t WHERE f = ANY (ARRAY[0, 2]::float8[]) OR f = ANY (a)",
    "at_least": "SELECT id FROM t WHERE f >= 0 AND r >= '-0'::real",
    "at_most": "SELECT id FROM t WHERE f <= '-0'::float8",
    "different": "SELECT id FROM t WHERE f IS DISTINCT FROM 0 AND r <> 0::real",
    "computed": "SELECT id, f, r, a, f::text AS t, -f AS m, -r AS n, atan2(f, -1) AS side FROM t",
    "bag": "SELECT f, r FROM t",
    "arrays": "SELECT a FROM t",
    "groups": "SELECT f, count(*) AS n FROM t WHERE id IN (2, 3, 4, 5, 6, 8, 20) GROUP BY f",
    "sums": "SELECT f, sum(id) AS s, min(r) AS l FROM t WHERE id NOT IN (1, 7) GROUP BY f",
    "distinct_r": "SELECT DISTINCT r FROM t WHERE id <> 1",
    "united": "SELECT f FROM t WHERE id NOT IN (1, 7) UNION SELECT g FROM u",
    "in_both": "SELECT f FROM t WHERE id NOT IN (1, 7) INTERSECT SELECT g FROM u",
    "one_group": "SELECT count(DISTINCT f) AS n, count(DISTINCT r) AS m, count(*) AS k FROM t",
    "values_of": "SELECT count(*) AS n FROM (SELECT DISTINCT f, r FROM t) d",
    "joined": "SELECT t.id, t.f::text AS f, u.g::text AS g FROM t JOIN u ON t.f = u.g",
    "kept": "SELECT t.id, u.s FROM t LEFT JOIN u ON t.r = u.s AND u.g < 2",
    "least_f": "SELECT min(f) AS a, max(f) AS b, sum(f) AS s, avg(f) AS m FROM t WHERE id IN (2, 8, 20)",
    "totals": "SELECT sum(r) AS s, sum(f) AS t, avg(r) AS m FROM t WHERE f < 10 AND f > -10",
    "listed": "SELECT array_agg(f ORDER BY id) AS l, array_agg(DISTINCT r) AS d FROM t WHERE id NOT IN (1)",
    "first_f": "SELECT f, id FROM t ORDER BY f, id LIMIT 3",
}


def test_floats(place: Place) -> None:
    place.follow(
        FLOATS,
        OF_FLOATS,
        [
            "UPDATE t SET id = 20 WHERE id = 2",
            "UPDATE t SET f = '-0', r = '-0', a = '{-0}' WHERE id = 1",
            "UPDATE t SET f = 0 WHERE id IN (8, 20); UPDATE u SET g = 0 WHERE g = 0",
            "INSERT INTO t VALUES (9, 0, '-0', '{0}'), (10, 1.5, '-0', '{-0}')",
            "DELETE FROM t WHERE id IN (1, 9, 10)",
        ],
        ["UPDATE t SET f = -f, r = -r; UPDATE u SET g = '-0', s = 0", "DELETE FROM t WHERE f = 0"],
    )


CHARACTERS = """
    CREATE DOMAIN code AS character(4);
    CREATE TABLE t (
        id int PRIMARY KEY, c character(3), d character(5), b bpchar, x text, k code, a character(3)[]);
    INSERT INTO t VALUES (1, 'a', 'a', 'a  ', 'a', 'a', '{a,NULL}'), (2, 'ab', 'ab', 'ab', 'ab ', 'b', '{}'),
        (3, '', '', '', '', '', '{ab}'), (4, NULL, 'abcd', E'a\\t', E'a\\t', NULL, NULL),
        (5, 'a', E'a\\t', 'a  ', ' a', 'a', '{a}'), (6, 'é', 'é', 'é ', 'é', 'é', '{é}')
"""
OF_CHARACTERS = {
    "plain": "SELECT c, d, b, k, a FROM t",
    "extremes": 'SELECT min(c COLLATE "C") AS l, max(d COLLATE "C") AS g, max(b COLLATE "C") AS m FROM t',
    "chosen": "SELECT id, CASE WHEN id < 3 THEN c ELSE d END AS v, coalesce(c, d) AS f FROM t",
    "chosen_too": "SELECT id, coalesce(c, 'z') AS g, CASE id WHEN 1 THEN b ELSE c END AS w FROM t",
    "nulled": "SELECT id, nullif(c, d) AS n, nullif(c, 'a') AS m FROM t",
    "united": "SELECT c FROM t UNION SELECT d FROM t WHERE id = 4",
    "united_all": "SELECT c FROM t UNION ALL SELECT d FROM t UNION ALL SELECT b FROM t",
    "texts": "SELECT id, c::text AS t, b::text AS s, c::varchar AS v, c || '|' AS j, b || '|' AS k FROM t",
    "lengths": "SELECT id, length(c) AS n, octet_length(d) AS o, length(b) AS m, char_length(k) AS p FROM t",
    "groups": 'SELECT c, count(*) AS n, min(d COLLATE "C") AS l FROM t GROUP BY c',
    "free_groups": "SELECT b, count(*) AS n FROM t GROUP BY b",
    "of_domain": "SELECT k, count(*) AS n FROM t GROUP BY k",
    "distinct_values": "SELECT DISTINCT c, b FROM t",
    "how_many": "SELECT count(DISTINCT b) AS n, count(DISTINCT c) AS m FROM t",
    "listed": "SELECT array_agg(c ORDER BY id) AS l, string_agg(c, ',' ORDER BY id) AS s FROM t",
    "in_arrays": "SELECT id, ARRAY[c, d] AS l, ARRAY[c, c] AS m FROM t",
    "likes": "SELECT id FROM t WHERE c LIKE 'a' OR d LIKE '%d ' OR b LIKE 'a_ ' OR k LIKE 'b   '",
    "equals": "SELECT id FROM t WHERE c = d OR b = 'a' OR c = x::bpchar",
    "as_texts": "SELECT id FROM t WHERE c::text = x OR c = x",
    "one_of": "SELECT id FROM t WHERE c IN ('a', 'ab ') OR c = ANY (a) OR b IN ('a', 'b')",
    "ordered": 'SELECT id, d FROM t ORDER BY d COLLATE "C", id LIMIT 3',
    "between": "SELECT id FROM t WHERE d COLLATE \"C\" > 'a' AND d COLLATE \"C\" < 'b'",
    "greatest_of": 'SELECT id, greatest(c COLLATE "C", d) AS g, least(c COLLATE "C", b) AS l FROM t',
    "cut": "SELECT id, d::character(2) AS e, x::character(2) AS f, x::bpchar AS g FROM t",
    "joined": "SELECT l.id, r.id AS other, r.b FROM t l JOIN t r ON l.c = r.b",
    "kept": "SELECT l.id, r.d FROM t l LEFT JOIN t r ON l.b = r.d AND r.id > 1",
    "single": 'SELECT id, (SELECT max(c COLLATE "C") FROM t) AS m FROM t',
}


def test_characters(place: Place) -> None:
    place.follow(
        CHARACTERS,
        OF_CHARACTERS,
        [
            "UPDATE t SET b = 'a  ', c = 'ab', d = 'a' WHERE id IN (2, 5)",
            "UPDATE t SET b = 'a' WHERE b = 'a'",
            "INSERT INTO t SELECT id + 10, c, d, b, x, k, a FROM t",
            "DELETE FROM t WHERE id IN (1, 12, 14)",
        ],
        ["UPDATE t SET c = 'zz', k = 'y' WHERE id > 11", "DELETE FROM t WHERE b = 'a'"],
    )


MOMENTS = """
    CREATE TABLE t (
        id int PRIMARY KEY, d date, s timestamp, z timestamptz, i interval, o time, p timetz,
        a date[], b timestamp[], c time[]);
    INSERT INTO t VALUES
        (1, 'infinity', 'infinity', 'infinity', '1 mon', '24:00', '24:00+00',
            '{infinity,NULL}', '{-infinity}', '{24:00,00:00}'),
        (2, '-infinity', '-infinity', '-infinity', '30 days', '00:00', '24:00-15:59',
            '{-infinity}', '{}', '{}'),
        (3, '4714-11-24 BC', '4714-11-24 BC', '4714-11-24 00:00:00+00 BC', '-1 day', '12:00', '00:00+02',
            '{0001-12-31 BC}', '{0044-03-15 12:00 BC}', NULL),
        (4, '5874897-12-31', '294246-12-31 23:59:59.999999', '10000-01-01 00:00:00.5+00', '100 years',
            '23:59:59.999999', '12:00+02', '{5874897-12-31}', '{294246-12-31}', '{12:00:00.5}'),
        (5, '2020-02-29', '2020-02-29 12:00', '2020-02-29 12:00+00', '00:00:01', '00:00:01', '10:00+00',
            '{2020-02-29}', NULL, '{NULL}'),
        (6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
NEAR = "d NOT IN ('4714-11-24 BC', '5874897-12-31')"
OF_MOMENTS = {
    "plain": "SELECT * FROM t",
    "later_days": f"SELECT id, d + 31 AS e, d - 31 AS f FROM t WHERE {NEAR}",
    "later": f"SELECT id, d + i AS e, s - i AS f FROM t WHERE {NEAR}",
    "fields_of": "SELECT id, extract(month FROM d) AS m, extract(dow FROM s) AS w FROM t",
    "years_of": "SELECT id, extract(year FROM d) AS y FROM t WHERE d < 'infinity' AND d > '-infinity'",
    "growing": "SELECT id, date_part('epoch', d) AS e FROM t WHERE d <> '5874897-12-31'",
    "cut": "SELECT id, date_trunc('month', s) AS m, s::date AS d FROM t WHERE s <> '4714-11-24 BC'",
    "as_moments": "SELECT id, d::timestamp AS s FROM t WHERE d <> '5874897-12-31'",
    "between_dates": "SELECT id, d - date '2000-01-01' AS n FROM t WHERE d > '-infinity' AND d < 'infinity'",
    "ranges": "SELECT id FROM t WHERE d > '9999-12-31' OR s < '0001-01-01 00:00:00 BC' OR z = 'infinity'",
    "mixed": "SELECT id FROM t WHERE d <= s",
    "extremes": "SELECT min(d) AS a, max(d) AS b, min(s) AS c, max(s) AS e, min(z) AS f, max(z) AS g FROM t",
    "clocks": "SELECT min(o) AS a, max(o) AS b, count(DISTINCT o) AS n FROM t",
    "groups": "SELECT d, count(*) AS n, max(o) AS o FROM t GROUP BY d",
    # Which of '1 mon' and '30 days' a group shows is left open.
    "spans": "SELECT count(*) AS n, sum(id) AS s FROM t GROUP BY i",
    "equal_spans": "SELECT count(*) AS n FROM (SELECT DISTINCT i FROM t) u",
    "zones": "SELECT p, count(*) AS n FROM t GROUP BY p",
    "united": "SELECT d, o FROM t UNION SELECT 'infinity', '24:00'",
    "joined": "SELECT l.id, r.id AS other FROM t l JOIN t r ON l.d = r.d OR l.o = r.o",
    "listed": "SELECT array_agg(d ORDER BY d, id) AS l, array_agg(o ORDER BY id) AS m FROM t",
    "noon": "SELECT id FROM t WHERE o = '24:00' OR o >= '12:00'",
}


def test_moments(place: Place) -> None:
    place.follow(
        MOMENTS,
        OF_MOMENTS,
        [
            "UPDATE t SET id = id + 10",
            "UPDATE t SET d = 'infinity', s = '-infinity', o = '24:00', i = '30 days' WHERE id IN (13, 15)",
            "INSERT INTO t SELECT id + 10, d, s, z, i, o, p, a, b, c FROM t WHERE id NOT IN (13, 14)",
            "DELETE FROM t WHERE d = 'infinity' AND id > 20",
        ],
        [
            "UPDATE t SET d = '-infinity', z = 'infinity' WHERE id < 20",
            "DELETE FROM t WHERE s < '2000-01-01'",
        ],
    )


def test_infinite_spans(postgres18: Server, tmp_path: Path) -> None:
    """PostgreSQL has them from version 17 on."""
    Place(postgres18, tmp_path / "data", "spans").follow(
        "CREATE TABLE t (id int PRIMARY KEY, i interval, s timestamp); INSERT INTO t VALUES "
        "(1, 'infinity', '2020-01-01'), (2, '-infinity', 'infinity'), (3, '1 mon', NULL)",
        {
            "plain": "SELECT i FROM t",
            "negated": "SELECT id, -i AS n, i + interval '1 day' AS l FROM t",
            "later": "SELECT id, s + i AS e FROM t WHERE id <> 2",
            "groups": "SELECT i, count(*) AS n FROM t GROUP BY i",
            "longer": "SELECT id FROM t WHERE i > '178000000 years'",
        },
        ["UPDATE t SET i = -i WHERE id < 3", "DELETE FROM t WHERE i = 'infinity'"],
        ["INSERT INTO t SELECT 9, 'infinity', 'infinity'"],
    )


DOCUMENTS = r"""
    CREATE TABLE t (id int PRIMARY KEY, j jsonb, n int);
    INSERT INTO t VALUES (1, '{"a": 1, "b": [1.0, "1.0"]}', 1), (2, '{"b": [1, "1.0"], "a": 1.00}', 2),
        (3, '{"a": "x\\\"1.0\\"}', 3), (4, '1.50', 1), (5, '1.5', 2), (6, '1e2', 3), (7, '100.0', 3),
        (8, NULL, 1), (9, '-0.0', 1), (10, '0', 2), (11, '"1.0"', 1), (12, '"1"', 1), (13, '10.05', 1),
        (14, '[]', 1), (15, '1.000000000000000000000000000000000000000000001', 1)
"""
OF_DOCUMENTS = {
    "plain": "SELECT j FROM t",
    "sums": "SELECT sum(n) AS s, count(*) AS c FROM t GROUP BY j",
    "alone": "SELECT j, count(*) AS n FROM t WHERE id NOT IN (2, 5, 6, 9) GROUP BY j",
    "distinct_j": "SELECT DISTINCT j FROM t WHERE id IN (1, 3, 4, 6, 8, 11, 20)",
    "how_many": "SELECT count(DISTINCT j) AS n FROM t",
    "of_union": "SELECT count(*) AS n FROM (SELECT j FROM t UNION SELECT '1.500'::jsonb) u",
    "on_both": "SELECT count(*) FROM (SELECT j FROM t WHERE n = 1 INTERSECT SELECT j FROM t WHERE n = 2) u",
    "equals": 'SELECT id FROM t WHERE j = \'1.500\' OR j = \'{"a": 1.0, "b": [1, "1.0"]}\'',
    "others": "SELECT id FROM t WHERE j <> '100'",
    "changed": "SELECT id FROM t WHERE j IS DISTINCT FROM '1.5'::jsonb",
    "joined": "SELECT l.id, r.id AS other, r.j FROM t l JOIN t r ON l.j = r.j",
    "within": "SELECT id FROM t WHERE j IN (SELECT j FROM t WHERE n = 2)",
    "without": "SELECT l.id FROM t l WHERE NOT EXISTS (SELECT FROM t r WHERE r.j = l.j AND r.id <> l.id)",
}


def test_documents(place: Place) -> None:
    place.follow(
        DOCUMENTS,
        OF_DOCUMENTS,
        [
            "UPDATE t SET j = '1.5000' WHERE id = 4; UPDATE t SET n = n + 1 WHERE id IN (1, 5, 9)",
            'INSERT INTO t VALUES (20, \'{"a": 1.000, "b": [1, "1.0"]}\', 2); DELETE FROM t WHERE id = 1',
            "DELETE FROM t WHERE j = '1.5'",
        ],
        ["UPDATE t SET j = '100.00', n = 2 WHERE id = 6", "UPDATE t SET j = '0.000' WHERE id > 9"],
    )


def test_texts_are_those_of_fixed_settings(postgres18: Server, tmp_path: Path) -> None:
    """Whoever makes the query: VERIFY compares under the same settings."""
    with (
        gavial(upstream=postgres18, data=tmp_path / "data") as proxy,
        fresh_database(proxy) as dsn,
        session(dsn) as user,
    ):
        user.execute("CREATE TABLE t (b bytea, f float8); INSERT INTO t VALUES ('a', 0.1)")
        user.execute("SET bytea_output = escape; SET extra_float_digits = -15")
        query = "SELECT b, b::text AS t, f::text AS v, md5(f::text) AS m FROM t"
        user.execute(f"CREATE STANDING QUERY q AS {query} WITH NO DATA".encode())
        wait_until_answered(user, ["q"])
        user.execute("UPDATE t SET f = 0.30000000000000004")
        refresh(user, "q")
        assert user.execute("SELECT t, v FROM q").fetchall() == [("\\x61", "0.30000000000000004")]
        assert differences(user, "q") == []


def test_sums_of_floats_may_differ_in_their_last_digits(postgres18: Server, tmp_path: Path) -> None:
    """By the order in which they were added: VERIFY takes them for the same."""
    with (
        gavial(upstream=postgres18, data=tmp_path / "data") as proxy,
        fresh_database(proxy) as dsn,
        session(dsn) as user,
    ):
        user.execute(
            "CREATE TABLE t (k int, f float8, r real); INSERT INTO t "
            "SELECT g % 3, 1 / (g + 0.1), 1000 / (g * g + 0.3) FROM generate_series(1, 3000) g"
        )
        query = "SELECT k, sum(f) AS s, avg(f) * 2 AS a, sum(r) AS r, count(*) AS n FROM t GROUP BY k"
        user.execute(f"CREATE STANDING QUERY q AS {query} WITH NO DATA".encode())
        wait_until_answered(user, ["q"])
        for start in (3001, 4001):
            user.execute(
                "INSERT INTO t SELECT g %% 3, 7 / (g + 0.1), g FROM generate_series(%s::int, %s::int) g",
                (start, start + 999),
            )
            refresh(user, "q")
        assert differences(user, "q") == []
