"""Numerics of any scale and size as standing queries: their texts are PostgreSQL's (G1)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from random import SystemRandom
from typing import Final

import psycopg
import pytest

from tests.support.answers.answering import (
    check,
    differences,
    refresh,
    refused_refresh,
    unlike,
    wait_until_answered,
)
from tests.support.answers.random_numbers import SETUP, RandomNumbers
from tests.support.capture.databases import one
from tests.support.checkout import ROOT
from tests.support.running.servers import Gavial, Server, gavial
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.versions import versions

pytestmark = pytest.mark.service

MIGRATION: Final = ROOT / "catalog" / "migrations" / "0014_written_values.sql"
FIRST: Final = 0 if os.environ.get("CI") else SystemRandom().randrange(1_000_000)
BATCHES: Final = 3

# What passes, is compared, or is left to PostgreSQL: of all numbers.
OF_ALL: Final = {
    "passes": "SELECT id, a, b, m, c, w, l FROM n",
    "texts": "SELECT id, a::text, a::varchar AS v, scale(a), trim_scale(a) AS t, abs(b), -b AS minus FROM n",
    "computed": "SELECT id, a * b AS p, a + b AS s, a - b AS d, a * a * a AS q, a % 7 AS r, "
    "round(a, 3) AS o FROM n",
    "wide": "SELECT id, w * w AS p, c * 1.10 AS x, 1.10 AS y, c + 1e-30 AS z FROM n",
    "rounded": "SELECT id, round(c, 4) AS r, trunc(c, 4) AS t, round(c) AS w, ceil(c) AS u, sign(c) AS s "
    "FROM n",
    "signed": "SELECT array_agg(-a ORDER BY id) AS a, array_agg(abs(b) ORDER BY id) AS b, "
    "array_agg(-abs(-c) ORDER BY id) AS c, count(*) FILTER (WHERE -a < b AND abs(c) > 1e20) AS n FROM n",
    "filtered": "SELECT id, a FROM n WHERE a > b OR a = 2.5 OR a = 'NaN' OR b < -1e20",
    "chosen": "SELECT id, CASE WHEN g > 0 THEN a ELSE 0 END AS x, coalesce(c, 0) AS y, "
    "coalesce(a, b, 1.0) AS z, nullif(a, 2.5) AS n, greatest(a, b) AS g, least(a, c) AS l FROM n",
    "joined": "SELECT x.id, y.id AS other, x.a, y.b FROM n x JOIN n y ON x.a = y.b",
    "outer_joined": "SELECT x.id, y.id AS other, x.a, y.c, y.m FROM n x LEFT JOIN n y ON x.a = y.m",
    "united": "SELECT id, a FROM n UNION ALL SELECT id, c FROM n UNION ALL SELECT id, 0 FROM n",
    "extremes": "SELECT g, trim_scale(max(a)) AS greatest, trim_scale(min(b)) AS least FROM n GROUP BY g",
    "counted": "SELECT g, count(DISTINCT a) AS n, count(b) AS m FROM n GROUP BY g",
    "counted_lists": "SELECT count(DISTINCT l) AS n, count(l) AS m FROM n",
    "grouped_by_lists": "SELECT count(*) AS n, sum(id) AS s FROM n GROUP BY l",
    "distinct_lists": "SELECT count(*) AS n FROM (SELECT DISTINCT l FROM n UNION SELECT l FROM n) d",
    "counted_by": "SELECT trim_scale(a) AS t, count(*) FROM n GROUP BY trim_scale(a)",
    "written_values": "SELECT * FROM (VALUES (1.5), (2.25), (0), (1e40), ('NaN'::numeric)) AS v (x)",
    "first": "SELECT id, a FROM n WHERE a = 'NaN' OR a > 1e20 ORDER BY a DESC, id LIMIT 5",
    "not_in": "SELECT id FROM n WHERE NOT EXISTS (SELECT FROM n y WHERE y.a = n.b)",
    "text_of_joined": "SELECT x.id, x.a::text AS t FROM n x JOIN n y ON x.a = y.b WHERE y.b::text LIKE '%5'",
}

# What sums, and computes below an aggregate: of numbers that have a decimal. Which of equal values max shows
# depends on PostgreSQL's plan, hence trim_scale.
OF_MANY: Final = {
    "sums": "SELECT g, sum(a) AS a, sum(m) AS m, sum(a + b) AS s, sum(c) AS c, avg(a) AS v FROM n GROUP BY g",
    "sum_of_all": "SELECT sum(a) AS s, sum(a * c) AS p FROM n",
    "sum_of_cases": "SELECT g, sum(CASE WHEN id % 3 = 0 THEN c ELSE 0 END) AS s, "
    "sum(coalesce(c, 0) * 1.5) AS p, sum(c) FILTER (WHERE id % 2 = 0) AS f FROM n GROUP BY g",
    "sum_of_sums": "SELECT sum(s) AS s FROM (SELECT g, sum(a) AS s FROM n GROUP BY g) AS x",
    "averages_below": "SELECT id, c, v FROM n JOIN (SELECT g, avg(c) AS v FROM n GROUP BY g) x USING (g) "
    "WHERE c < v",
    "kept_groups": "SELECT g, sum(a) AS s FROM n GROUP BY g HAVING sum(a) > 1.0",
    "computed_below": "SELECT x.p, y.id FROM (SELECT g, trim_scale(max(a * b)) AS p FROM n GROUP BY g) x "
    "JOIN n y USING (g)",
    "divided_below": "SELECT g, sum(a / 3) AS s, avg(c / nullif(a, 0)) AS v FROM n GROUP BY g",
    "quotients": "SELECT id FROM n WHERE a / 3 > 0.25 OR c / nullif(a, 0) < -1",
    "averages_of_any": "SELECT id, v FROM n JOIN (SELECT g, avg(a) AS v FROM n GROUP BY g) x USING (g) "
    "WHERE a < v",
    "divided": "SELECT id, 3 / nullif(a, 0) AS q, sqrt(abs(a)) AS r, ln(abs(a) + 1) AS l FROM n",
}

# Of a group PostgreSQL shows the value that came first; here it is the one with most digits.
GROUPED: Final = {
    "grouped": (
        "SELECT a, count(*) AS n, sum(c) AS c FROM n GROUP BY a",
        "SELECT round(trim_scale(a), coalesce(max(scale(a)), 0)), count(*), sum(c) FROM n "
        "GROUP BY trim_scale(a)",
    ),
    "distinct_values": (
        "SELECT DISTINCT a FROM n",
        "SELECT round(trim_scale(a), coalesce(max(scale(a)), 0)) FROM n GROUP BY trim_scale(a)",
    ),
    "united_values": (
        "SELECT a FROM n UNION SELECT c FROM n",
        "SELECT round(trim_scale(a), coalesce(max(scale(a)), 0)) FROM "
        "(SELECT a FROM n UNION ALL SELECT c FROM n) u GROUP BY trim_scale(a)",
    ),
}


@pytest.fixture(scope="module", params=versions(15))
def proxy(request: pytest.FixtureRequest) -> Iterator[Gavial]:
    upstream = request.getfixturevalue(f"postgres{request.param}")
    assert isinstance(upstream, Server)
    with gavial(upstream=upstream) as running:
        yield running


@pytest.fixture
def user(proxy: Gavial) -> Iterator[psycopg.Connection]:
    with fresh_database(proxy) as dsn, session(dsn) as connection:
        connection.execute(SETUP.encode())
        yield connection


def make(connection: psycopg.Connection, queries: dict[str, str]) -> None:
    """Standing queries with their first results."""
    for name, query in queries.items():
        connection.execute(f"CREATE STANDING QUERY {name} AS {query} WITH NO DATA".encode())
    wait_until_answered(connection, queries)


def unlike_query(connection: psycopg.Connection, name: str, query: str) -> list[tuple[str, str]]:
    """Where a result differs by its text from what this query gives."""
    result, expected = f"SELECT (q.*)::text FROM {name} q", f"SELECT (q.*)::text FROM ({query}) q"
    question = f"SELECT 'superfluous', d.* FROM ({result} EXCEPT ALL {expected}) d UNION ALL "
    question += f"SELECT 'missing', d.* FROM ({expected} EXCEPT ALL {result}) d"
    return connection.execute(question.encode()).fetchall()


def test_numbers_of_all_sizes(user: psycopg.Connection) -> None:
    sys.stdout.write(f"seed {FIRST}\n")
    numbers = RandomNumbers(FIRST)
    numbers.fill(user, 60)
    queries = OF_ALL | {name: standing for name, (standing, _) in GROUPED.items()}
    make(user, queries)
    for _ in range(BATCHES):
        refresh(user, *queries)
        assert not (unequal := differences(user, *queries)), unequal
        wrong = {name: found for name in OF_ALL if (found := unlike(user, name))}
        wrong |= {
            name: found for name, (_, query) in GROUPED.items() if (found := unlike_query(user, name, query))
        }
        assert not wrong
        numbers.change(user, 25)


def test_sums_show_the_digits_of_the_longest(user: psycopg.Connection) -> None:
    sys.stdout.write(f"seed {FIRST}\n")
    numbers = RandomNumbers(FIRST, wild=False)
    numbers.fill(user, 40)
    make(user, OF_MANY)
    for _ in range(BATCHES):
        check(user, *OF_MANY)
        numbers.change(user, 25)


def test_an_equal_value_that_is_written_differently_is_published(user: psycopg.Connection) -> None:
    user.execute("INSERT INTO n (id, g, a) VALUES (1, 1, 2.5), (2, 1, 1.0)")
    make(user, {"q": "SELECT id, a FROM n", "s": "SELECT sum(a) AS s, max(a) AS m FROM n"})
    user.execute("UPDATE n SET a = 2.50 WHERE id = 1")
    check(user, "q", "s")
    assert one(user, "SELECT a::text FROM q WHERE id = 1") == "2.50"
    assert one(user, "SELECT s::text FROM s") == "3.50"
    user.execute("UPDATE n SET a = 2.5 WHERE id = 1")
    check(user, "q", "s")
    assert one(user, "SELECT s::text FROM s") == "3.5"


# What is no number in a column whose type has a precision, and in what is computed of such columns.
OF_SPECIALS: Final = {
    "passes": "SELECT id, c, d, l FROM p",
    "texts": "SELECT id, c::text AS t, -c AS minus, abs(c) AS a, scale(c) AS s FROM p",
    "computed": "SELECT id, c * d AS x, c + 1 AS y, c::float8 AS f, round(c, 1) AS r, c / 3 AS q FROM p",
    "filtered": "SELECT id FROM p WHERE c > 1 OR c = 'NaN' OR d < 0",
    "calculated": "SELECT id FROM p WHERE c + 1 > 2.5 OR c * d = 'NaN' OR -f < 0 OR abs(f) - c IS NULL",
    "below": "SELECT x.v, y.id FROM (SELECT id, c * d AS v FROM p) x JOIN p y ON x.v >= y.c AND y.id < 3",
    "calculated_groups": "SELECT f + c AS k, count(*) AS n FROM p GROUP BY f + c",
    "groups": "SELECT c, count(*) AS n FROM p GROUP BY c",
    "distinct_values": "SELECT DISTINCT d FROM p",
    "joined": "SELECT x.id, y.id AS other FROM p x JOIN p y ON x.c = y.d",
    "extremes": "SELECT g, max(c) AS m, min(d) AS l FROM p GROUP BY g",
    "sums": "SELECT g, sum(c) AS c, sum(d) AS d, avg(c) AS v, count(c) AS n FROM p GROUP BY g",
    "all_sums": "SELECT sum(c) AS s, sum(c) FILTER (WHERE id > 3) AS f, sum(DISTINCT d) AS d FROM p",
    "products": "SELECT g, sum(c * (1 - d)) AS p, avg(c * d) AS v FROM p GROUP BY g",
    "free_sums": "SELECT g, sum(f) AS s, avg(f) AS a, sum(f * c) AS p, sum(-f) AS m FROM p GROUP BY g",
    "chosen": "SELECT sum(CASE WHEN id > 2 THEN f ELSE 0 END) AS s, sum(coalesce(c, 0)) AS t FROM p",
    "above": "SELECT g, s FROM (SELECT g, sum(f) AS s FROM p GROUP BY g) x WHERE s > 1 OR s = 'NaN'",
    "sum_of_sums": "SELECT sum(s) AS s FROM (SELECT g, sum(f) AS s FROM p GROUP BY g) x",
    "rounded": "SELECT array_agg(round(f, 1) ORDER BY id) AS r, array_agg(trunc(c) ORDER BY id) AS t, "
    "array_agg(ceil(f) ORDER BY id) AS u, array_agg(floor(f * c) ORDER BY id) AS w, "
    "array_agg(sign(f) ORDER BY id) AS s, sum(round(f + c)) AS n FROM p",
    "left_over": "SELECT array_agg(f % c ORDER BY id) AS f, array_agg(c % nullif(f, 0) ORDER BY id) AS c, "
    "array_agg(div(f, c) ORDER BY id) AS q, array_agg(div(c, nullif(f, 0)) ORDER BY id) AS r FROM p",
    "limited": "SELECT array_agg(c::numeric(12,3) ORDER BY id) AS c, sum((c + d)::numeric(6,1)) AS s FROM p",
    "compared": "SELECT id FROM p WHERE round(f) > 2 OR sign(c) < 1 OR f % c = 0 OR c::numeric(9,1) = 'NaN'",
    "nothing": "SELECT array_agg(f + n ORDER BY id) AS a, array_agg(f % n ORDER BY id) AS m, "
    "array_agg((f - n)::int ORDER BY id) AS i FROM p",
}


def test_what_is_no_number(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE p (id int PRIMARY KEY, g int, c numeric(8,2), d numeric(4,2), f numeric, "
        "l numeric(6,1)[], n numeric); "
        "INSERT INTO p VALUES (1, 1, 1.50, 0.10, 1.5, '{1.5}'), (2, 1, 2, 0, 0, NULL), (3, 2, 3, -1, 7, '{}')"
    )
    make(user, OF_SPECIALS)
    check(user, *OF_SPECIALS)
    for change in (
        "INSERT INTO p VALUES (4, 1, 'NaN', 0.5, 2, '{1,NaN}'), (5, 2, 4, 0.5, 'Infinity', '{NULL}')",
        "UPDATE p SET f = '-Infinity' WHERE id = 1; UPDATE p SET d = 'NaN' WHERE id = 2",
        "UPDATE p SET f = '-Infinity', d = 0.25 WHERE g = 2; UPDATE p SET c = 5 WHERE id = 4",
        "DELETE FROM p WHERE id IN (2, 5); UPDATE p SET f = 2.25",
    ):
        user.execute(change.encode())
        check(user, *OF_SPECIALS)
    assert one(user, "SELECT unstorable FROM gavial.sources WHERE relation = 'p'::regclass") is None


def test_no_integer_of_what_is_no_number(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE p (id int PRIMARY KEY, f numeric); INSERT INTO p VALUES (1, 1.5), (2, -7)")
    queries = {
        "q": "SELECT sum(f::int) AS s FROM p",
        "r": "SELECT id FROM p WHERE round(f)::bigint > 1",
        "s": "SELECT id, f::smallint AS f FROM p",
    }
    make(user, queries)
    for value in ("NaN", "-Infinity"):
        user.execute("UPDATE p SET f = %s WHERE id = 1", (value,))
        for name in queries:
            assert refused_refresh(user, name).sqlstate == "0A000"
        user.execute("UPDATE p SET f = 3.5 WHERE id = 1")
        check(user, *queries)


# Sums of numbers that no decimal holds.
OF_LONG_NUMBERS: Final = {
    "long_sums": "SELECT g, sum(a) AS a, sum(w) AS w, avg(a) AS v, count(b) AS n FROM n GROUP BY g",
    "long_sum_of_all": "SELECT sum(a) AS s, sum(b) FILTER (WHERE id % 2 = 0) AS f, sum(DISTINCT a) AS d "
    "FROM n",
    "long_cases": "SELECT sum(CASE WHEN id % 3 = 0 THEN a ELSE 0 END) AS s, sum(coalesce(b, 0)) AS t FROM n",
    "long_sum_of_sums": "SELECT sum(s) AS s FROM (SELECT g, sum(a) AS s FROM n GROUP BY g) AS x",
    "long_groups": "SELECT g, s FROM (SELECT g, sum(b) AS s FROM n GROUP BY g) AS x WHERE s > 1.5 OR s < 0",
}


def test_sums_of_long_numbers(user: psycopg.Connection) -> None:
    sys.stdout.write(f"seed {FIRST}\n")
    numbers = RandomNumbers(FIRST)
    numbers.fill(user, 40)
    make(user, OF_LONG_NUMBERS)
    for _ in range(BATCHES):
        check(user, *OF_LONG_NUMBERS)
        numbers.change(user, 25)


def test_a_sum_meets_a_long_number(user: psycopg.Connection) -> None:
    user.execute("INSERT INTO n (id, g, a) VALUES (1, 1, 2.5), (2, 1, -1.25)")
    queries = {
        "s": "SELECT g, sum(a) AS s FROM n GROUP BY g",
        "p": "SELECT id, a FROM n",
        "m": "SELECT g, sum(a * a) AS s, array_agg(a - 2 * a ORDER BY id) AS l FROM n GROUP BY g",
        "r": "SELECT g, sum(trunc(a)) AS s FROM n GROUP BY g",
    }
    make(user, queries)
    user.execute("UPDATE n SET a = 1e30 WHERE id = 1")
    failed = refused_refresh(user, "r")
    assert failed.sqlstate == "22003"
    assert failed.message is not None
    assert "1000000000000000000000000000000" in failed.message
    check(user, "s", "p", "m")
    for change in ("UPDATE n SET a = -a", "INSERT INTO n (id, g, a) VALUES (3, 1, 1e-30), (4, 1, '-1e30')"):
        user.execute(change.encode())
        check(user, "s", "p", "m")
    user.execute("UPDATE n SET a = 1.50")
    check(user, *queries)


OF_LONG_PRODUCTS: Final = {
    "products": "SELECT g, array_agg(w * b ORDER BY id) AS p, sum(w * c) AS s, max(b - w) AS m FROM p "
    "GROUP BY g",
    "conditions": "SELECT id FROM p WHERE w * w * c > 1e60 OR b + w < -1e20",
    "products_of_groups": "SELECT k, count(*) AS n FROM (SELECT w * b AS k FROM p) x GROUP BY k",
}


def test_products_that_no_decimal_holds(user: psycopg.Connection) -> None:
    """No type and no single value says that they are so long; what is short stays right beside them."""
    user.execute("CREATE TABLE p (id int PRIMARY KEY, g int, w numeric(30,12), b numeric(30,12), c numeric)")
    user.execute("INSERT INTO p VALUES (1, 1, 1.5, -2.25, 1.10), (2, 1, NULL, 3, 0), (3, 2, 7, -7, 'NaN')")
    make(user, OF_LONG_PRODUCTS)
    check(user, *OF_LONG_PRODUCTS)
    user.execute(
        "INSERT INTO p VALUES (4, 1, 123456789012345678.123456789012, -1.5, 123456789012345678901.5)"
    )
    check(user, *OF_LONG_PRODUCTS)
    user.execute("UPDATE p SET b = w, c = -c; INSERT INTO p VALUES (5, 2, 123456789012345678, -1, 1e-30)")
    check(user, *OF_LONG_PRODUCTS)
    user.execute("DELETE FROM p WHERE id = 4")
    check(user, *OF_LONG_PRODUCTS)


def test_what_an_older_version_stored_is_copied_anew(user: psycopg.Connection) -> None:
    user.execute("INSERT INTO n (id, g, a) VALUES (1, 1, 2.50)")
    make(user, {"q": "SELECT id, a FROM n", "s": "SELECT sum(a) AS s FROM n"})
    user.execute(MIGRATION.read_bytes())
    assert one(user, "SELECT state FROM gavial.sources WHERE relation = 'n'::regclass") != "captured"
    user.execute("INSERT INTO n (id, g, a) VALUES (2, 1, 1.125)")
    check(user, "q", "s")


def test_a_column_that_is_added_with_a_default(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    make(user, {"before": "SELECT id FROM t"})
    user.execute("ALTER TABLE t ADD d numeric DEFAULT 1.10, ADD e numeric DEFAULT 'NaN'")
    user.execute("ALTER TABLE t ADD l numeric[] DEFAULT '{1.50,1e30}'; INSERT INTO t VALUES (2, 2.0)")
    make(user, {"q": "SELECT id, d, e, l, d::text AS t FROM t"})
    user.execute("UPDATE t SET d = 1.1 WHERE id = 1")
    check(user, "before", "q")


def test_sums_of_quotients_that_no_decimal_holds(user: psycopg.Connection) -> None:
    """Planned anew for them once, where no column tells of long numbers; also when they come later."""
    user.execute("CREATE TABLE u (id int PRIMARY KEY, g int, p numeric(38,2))")
    user.execute("INSERT INTO u VALUES (1, 1, 12345678901234567890.5), (2, 1, 7), (3, 2, 1)")
    user.execute(
        "CREATE TABLE v (id int PRIMARY KEY, g int, p numeric(38,2)); INSERT INTO v VALUES (1, 1, 7)"
    )
    said: list[str] = []
    user.add_notice_handler(lambda told: said.append(told.message_primary or ""))
    grouped = "SELECT p / 3.0 AS q, sum(p / 3.0) AS s, count(*) AS n FROM u GROUP BY p / 3.0"
    user.execute(f"CREATE STANDING QUERY at_once AS {grouped}".encode())
    assert sum("planned again" in message for message in said) <= 1, said
    make(user, {"later": "SELECT g, sum(p / 7.0) AS s, avg(p / 3.0) AS v FROM v GROUP BY g"})
    user.execute("INSERT INTO v VALUES (2, 1, 98765432109876543210.25), (3, 2, -12345678901234567890)")
    user.execute("DELETE FROM u WHERE id = 2; INSERT INTO u VALUES (4, 2, 36893488147419103232.01)")
    check(user, "at_once", "later")
    user.execute("DELETE FROM v WHERE id = 2")
    check(user, "later")


def test_what_cannot_be_computed_fails_once(user: psycopg.Connection) -> None:
    """It is computed once, and once more under the only other plan that there is."""
    user.execute("CREATE TABLE u (id int PRIMARY KEY, p numeric(38,2))")
    user.execute("INSERT INTO u VALUES (1, 12345678901234567890.5)")
    said: list[tuple[str, str]] = []
    user.add_notice_handler(lambda told: said.append((told.severity or "", told.message_detail or "")))
    user.execute("CREATE STANDING QUERY q AS SELECT id FROM u WHERE trunc(p / 3.0 * p) > 5")
    [detail] = [detail for severity, detail in said if severity == "WARNING"]
    assert (
        "The numeric value 50805262510796122504791445188421988556.3850" in detail
        and "is out of range" in detail
    )
    assert one(user, "SELECT count(*) FROM gavial.executions") == 2


def test_a_number_of_too_many_digits_says_so_and_what_to_do(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE u (id int PRIMARY KEY, p numeric); INSERT INTO u VALUES (1, 2)")
    make(user, {"q": "SELECT id FROM u WHERE trunc(p * p) > 5", "r": "SELECT id, p * p AS s FROM u"})
    user.execute("INSERT INTO u VALUES (2, 12345678901234567890.5)")
    failed = refused(user, "REFRESH STANDING QUERY q")
    assert failed.sqlstate == "22003"
    number = "the numeric value 152415787532388367514250878776253619990.25"
    assert failed.message == f"{number} is out of range for computing in a condition or an aggregate"
    assert "outermost select list" in failed.hint
    check(user, "r")
    user.execute("DELETE FROM u WHERE id = 2")
    check(user, "q")
