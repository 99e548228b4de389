"""Values that cannot be stored: what they stop, what goes on, and how it heals (G2, G11)."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.answers.answering import (
    ANSWER_SECONDS,
    check,
    make,
    refused_refresh,
    status_of,
    wait_until_answered,
)
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session
from tests.support.versions import versions

pytestmark = pytest.mark.service
BAD = "'294276-12-31'"
"""A timestamp that is later than any that Spark has."""


@pytest.fixture(scope="module", params=[f"postgres{major}" for major in versions(18)])
def proxy(request: pytest.FixtureRequest) -> Iterator[Gavial]:
    upstream: Server = request.getfixturevalue(request.param)
    with gavial(upstream=upstream) as running:
        yield running


@pytest.fixture
def user(proxy: Gavial) -> Iterator[psycopg.Connection]:
    with fresh_database(proxy) as dsn, session(dsn) as connection:
        yield connection


def test_a_value_that_cannot_be_stored_stops_who_reads_it_alone(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b timestamp, c int); CREATE TABLE u (a int)")
    user.execute(
        "INSERT INTO t SELECT g, date '2020-01-01' + g, g FROM generate_series(1, 9) g; "
        "INSERT INTO u VALUES (1)"
    )
    make(user, "reads", "SELECT a, b FROM t")
    make(user, "spares", "SELECT c % 2 AS k, count(*) AS n, sum(a) AS s FROM t GROUP BY c % 2")
    make(user, "other", "SELECT a FROM u")
    user.execute(
        f"UPDATE t SET b = {BAD} WHERE a < 4; INSERT INTO u VALUES (2); UPDATE t SET c = 7 WHERE a = 2"
    )
    how = refused_refresh(user, "reads")
    assert (how.sqlstate, how.message) == ("54000", 'a value of column "t.b" cannot be stored')
    assert status_of(user, "reads")[0] == "error"
    told = str(one(user, "SELECT detail FROM gavial.shown WHERE name = 'reads'"))
    assert "It is later than the year 294246. The value is 294276-12-31 00:00:00." in told
    assert 'column "b"' in one(user, "SELECT unstorable FROM gavial.sources WHERE relation = 't'::regclass")
    check(user, "spares", "other")
    since = one(user, "SELECT captured_from FROM gavial.sources WHERE relation = 't'::regclass")
    user.execute(
        "UPDATE t SET b = NULL WHERE a = 1; DELETE FROM t WHERE a = 2; UPDATE t SET c = 5 WHERE a = 3"
    )
    refused_refresh(user, "reads")
    user.execute("UPDATE t SET b = '2007-07-07' WHERE a = 3")
    check(user, "reads", "spares", "other")
    assert one(user, "SELECT unstorable FROM gavial.sources WHERE relation = 't'::regclass") is None
    assert one(user, "SELECT captured_from FROM gavial.sources WHERE relation = 't'::regclass") == since
    user.execute(
        f"INSERT INTO t VALUES (20, {BAD}, 1); TRUNCATE t; INSERT INTO t VALUES (21, '2021-01-01', 1)"
    )
    check(user, "reads", "spares")


def test_a_value_that_cannot_be_stored_is_there_before_the_query(user: psycopg.Connection) -> None:
    user.execute(f"CREATE TABLE t (a int, b timestamp); INSERT INTO t VALUES (1, {BAD}), (2, '2002-02-02')")
    make(user, "spares", "SELECT a FROM t")
    user.execute("CREATE STANDING QUERY reads AS SELECT a, b FROM t WITH NO DATA")
    wait_until(lambda: status_of(user, "reads")[0] == "error", "the query is not in error", ANSWER_SECONDS)
    assert status_of(user, "reads")[1] == "54000"
    check(user, "spares")
    user.execute("DELETE FROM t WHERE a = 1")
    wait_until(lambda: status_of(user, "reads")[0] == "active", "the query does not heal", ANSWER_SECONDS)
    check(user, "reads", "spares")


ARRAYS = """
    CREATE TABLE u (a int PRIMARY KEY, b int[], c int[]); INSERT INTO u VALUES (1, '{1}', '{2}');
    CREATE TABLE t (a int PRIMARY KEY, b int[], c text[], d numeric(6,2)[], e time[], f int[]);
    INSERT INTO t SELECT g, ARRAY[g, NULL], ARRAY['a,' || g], ARRAY[g], ARRAY[time '12:00'], '{1}'
    FROM generate_series(1, 5) g
"""
OF_ARRAYS = {
    "of_two_reads": "SELECT b FROM u UNION ALL SELECT c FROM u",
    "reads": "SELECT a, b, c, d, e FROM t",
    "groups": "SELECT b, count(*) AS n, sum(a) AS s FROM t GROUP BY b",
    "distinct_values": "SELECT DISTINCT c FROM t",
    "united": "SELECT b FROM t UNION SELECT f FROM t",
    "united_all": "SELECT b FROM t UNION ALL SELECT f FROM t",
    "one_of": "SELECT a FROM t WHERE 4 = ANY (b) OR 'x' = ANY (c)",
    "known": "SELECT a, b IS NULL AS missing, cardinality(b) AS n, array_length(b, 2) AS m FROM t",
    "counted": "SELECT count(DISTINCT b) AS n, count(c) AS m FROM t",
    "first_b": "SELECT a, b FROM t ORDER BY b DESC, a LIMIT 4",
    "chosen": "SELECT a, CASE WHEN a > 2 THEN b ELSE '{9}' END AS x, coalesce(b, f) AS y FROM t",
    "listed": "SELECT array_agg(a ORDER BY b, a) AS l FROM t",
}


def test_arrays_of_any_shape_are_stored(user: psycopg.Connection) -> None:
    """Who reads one has its table copied again, with room for such values; others read on."""
    user.execute(ARRAYS)
    for name, query in OF_ARRAYS.items():
        user.execute(f"CREATE STANDING QUERY {name} AS {query} WITH NO DATA".encode())
    wait_until_answered(user, OF_ARRAYS)
    for change in (
        "UPDATE t SET b = '{{1,2},{3,4}}' WHERE a = 2; UPDATE t SET b = '[0:1]={1,NULL}' WHERE a = 3; "
        "UPDATE u SET b = '{{1,2}}'",
        "INSERT INTO t VALUES (6, '{1,2,3,4}', '{{x,\"y,\"},{NULL,\"\"}}', '[2:2]={NaN}', '{}', '{}')",
        "UPDATE t SET f = '{{1,2},{3,4}}', d = '{{1.00},{2}}', e = '{{24:00}}' WHERE a IN (1, 2)",
        "DELETE FROM t WHERE a IN (2, 3); UPDATE t SET c = NULL, b = NULL WHERE a = 6",
    ):
        user.execute(change.encode())
        check(user, *OF_ARRAYS)
    assert one(user, "SELECT unstorable FROM gavial.sources WHERE relation = 't'::regclass") is None
