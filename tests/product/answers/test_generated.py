"""Standing queries over generated and identity columns, on servers that tell them and that do not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.answers.answering import check, make, status_of, wait_until_answered
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.running.waiting_client import WAIT_SECONDS, coordinator_of

pytestmark = pytest.mark.service


@pytest.fixture(scope="module", params=["postgres15", "postgres18"])
def proxy(request: pytest.FixtureRequest) -> Iterator[Gavial]:
    upstream: Server = request.getfixturevalue(request.param)
    with gavial(upstream=upstream) as running:
        yield running


@pytest.fixture
def user(proxy: Gavial) -> Iterator[psycopg.Connection]:
    with fresh_database(proxy) as dsn, session(dsn) as connection:
        yield connection


def test_stored_generated_columns(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, b text, "
        "d date DEFAULT '2020-02-29', "
        "z int GENERATED ALWAYS AS (a * 2) STORED, "
        "low varchar(20) GENERATED ALWAYS AS (substr(b, 1, 2)) STORED, "
        "share numeric(8, 2) GENERATED ALWAYS AS (coalesce(a, 0) / 3.0) STORED, "
        "year int GENERATED ALWAYS AS (extract(year FROM d)) STORED NOT NULL, "
        "whole text GENERATED ALWAYS AS (coalesce(b, '-') || ':' || a::text) STORED)"
    )
    user.execute(
        "INSERT INTO t (a, b) SELECT g, chr(65 + g) FROM generate_series(1, 9) g; INSERT INTO t (a) "
        "VALUES (NULL)"
    )
    make(user, "q", "SELECT id, a, z, low, share, year, whole FROM t")
    make(
        user, "r", "SELECT z % 3 AS k, count(*) AS n, sum(share) AS s, min(whole) AS w FROM t GROUP BY z % 3"
    )
    make(user, "s", "SELECT x.z, y.low FROM t AS x (i, aa) JOIN t AS y ON x.z = y.a WHERE y.share > 1")
    make(user, "u", "SELECT id, z FROM (SELECT * FROM t) v WHERE z IS NOT NULL")
    names = "q", "r", "s", "u"
    check(user, *names)
    assert one(user, "SELECT z FROM q WHERE a = 4") == 8
    user.execute(
        "UPDATE t SET a = a + 1, b = b || 'X' WHERE a % 2 = 0; INSERT INTO t (a, b) VALUES (100, 'New')"
    )
    user.execute("DELETE FROM t WHERE z = 6")
    check(user, *names)
    user.execute("TRUNCATE t; INSERT INTO t (a, b, d) VALUES (5, 'ÄÖ', '1999-12-31')")
    check(user, *names)


def test_a_generated_column_that_is_altered(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY, z int GENERATED ALWAYS AS (a * 2) STORED)")
    user.execute("INSERT INTO t VALUES (1), (2), (3)")
    make(user, "q", "SELECT a, z FROM t")
    make(user, "r", "SELECT count(a) AS n FROM t")
    user.execute("ALTER TABLE t ADD y int GENERATED ALWAYS AS (a * a) STORED; INSERT INTO t VALUES (4)")
    make(user, "s", "SELECT y, z FROM t WHERE y > 3")
    check(user, "q", "r", "s")
    if one(user, "SHOW server_version_num") >= "170000":
        user.execute("ALTER TABLE t ALTER z SET EXPRESSION AS (a * 7); UPDATE t SET a = 5 WHERE a = 1")
        check(user, "q", "r", "s")
    user.execute("ALTER TABLE t ALTER z DROP EXPRESSION; UPDATE t SET z = -z WHERE a = 2")
    user.execute("INSERT INTO t VALUES (8, 8)")
    check(user, "q", "r", "s")
    assert one(user, "SELECT z FROM q WHERE a = 8") == 8


def test_a_generated_column_that_comes_after_the_copy_and_becomes_a_plain_one(
    user: psycopg.Connection,
) -> None:
    user.execute("CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    make(user, "q", "SELECT id, a FROM t")
    user.execute("ALTER TABLE t ADD z int GENERATED ALWAYS AS (a + 100) STORED; INSERT INTO t VALUES (4, 4)")
    make(user, "r", "SELECT id, z FROM t")
    check(user, "q", "r")
    user.execute("ALTER TABLE t ALTER z DROP EXPRESSION; UPDATE t SET z = -z WHERE id = 2")
    check(user, "q", "r")
    assert one(user, "SELECT sum(z) FROM r") == 101 - 102 + 103 + 104
    # Both in one transaction, in which nothing is captured between them.
    user.execute(
        "ALTER TABLE t ADD y int GENERATED ALWAYS AS (a * 2) STORED; ALTER TABLE t ALTER y DROP EXPRESSION"
    )
    make(user, "s", "SELECT id, y FROM t")
    check(user, "q", "r", "s")


def test_a_generated_column_of_a_partitioned_table_that_becomes_a_plain_one(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE p (k int, a int) PARTITION BY LIST (k); CREATE TABLE p1 PARTITION OF p DEFAULT"
    )
    user.execute("INSERT INTO p VALUES (1, 1), (2, 2)")
    make(user, "q", "SELECT k FROM p")
    make(user, "r", "SELECT k FROM p1")
    user.execute("ALTER TABLE p ADD z int GENERATED ALWAYS AS (a + 1) STORED; INSERT INTO p VALUES (3, 3)")
    make(user, "s", "SELECT k, z FROM p")
    make(user, "u", "SELECT k, z FROM p1")
    user.execute("ALTER TABLE p ALTER z DROP EXPRESSION; UPDATE p SET z = 7 WHERE k = 2")
    check(user, "q", "r", "s", "u")


def test_a_generated_column_by_an_expression_that_cannot_be_maintained(user: psycopg.Connection) -> None:
    user.execute("CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'")
    user.execute(
        "CREATE TABLE t (a int, z int GENERATED ALWAYS AS (twice(a)) STORED); INSERT INTO t VALUES (1), (2)"
    )
    make(user, "q", "SELECT a FROM t")
    if one(user, "SHOW server_version_num") >= "180000":
        make(user, "r", "SELECT z FROM t")
        user.execute("UPDATE t SET a = 3")
        check(user, "q", "r")
        return
    error = refused(user, "CREATE STANDING QUERY r AS SELECT z FROM t")
    assert error.sqlstate == "0A000"
    assert error.message == 'cannot maintain a query that reads the generated column "z" of table "t"'
    assert "public.twice(a)" in error.detail
    assert "a plain column that a trigger fills" in error.hint
    user.execute("UPDATE t SET a = 3 WHERE a = 1")
    check(user, "q")


def test_a_generated_column_whose_text_depends_on_settings(user: psycopg.Connection) -> None:
    user.execute("CREATE DOMAIN bytes AS bytea; SET bytea_output = escape; SET extra_float_digits = -3")
    user.execute(
        "CREATE TABLE t (b bytea, i bytes, f real, d float8, "
        "x text GENERATED ALWAYS AS (b::text || '!') STORED, "
        "y varchar(9) GENERATED ALWAYS AS (i::text) STORED, z text GENERATED ALWAYS AS (f::varchar) STORED, "
        "n text GENERATED ALWAYS AS (encode(b, 'hex') || d::int::text) STORED)"
    )
    user.execute("INSERT INTO t VALUES ('a', 'b', 0.123456, 2020)")
    if one(user, "SHOW server_version_num") >= "180000":
        make(user, "q", "SELECT x, y, z, n FROM t")
        assert user.execute("TABLE q").fetchall() == [("a!", "b", "0.123", "612020")]
        return
    for column in "xyz":
        error = refused(user, f"CREATE STANDING QUERY r AS SELECT {column} FROM t")
        assert f'the generated column "{column}" of table "t"' in error.message
        assert "depends on the settings of the session that writes a row" in error.detail
    make(user, "q", "SELECT n FROM t")
    check(user, "q")


@pytest.mark.parametrize("proxy", ["postgres18"], indirect=True)
def test_a_publication_as_an_upgrade_of_the_server_leaves_it(proxy: Gavial, user: psycopg.Connection) -> None:
    """It does not tell generated columns, and PostgreSQL refuses updates: until Gavial is at work again."""
    user.execute("CREATE TABLE t (a int, z int GENERATED ALWAYS AS (a * 2) STORED)")
    user.execute("INSERT INTO t VALUES (1), (2)")
    make(user, "q", "SELECT a, z FROM t")
    user.execute("ALTER PUBLICATION gavial SET (publish_generated_columns = none)")
    assert "unpublished generated columns" in refused(user, "UPDATE t SET a = 3 WHERE a = 1").detail
    os.kill(coordinator_of(proxy), signal.SIGKILL)
    told = "SELECT pubgencols::text FROM pg_publication WHERE pubname = 'gavial'"
    wait_until(lambda: one(user, told) == "s", "the publication stays as it is", WAIT_SECONDS)
    user.execute("UPDATE t SET a = 3 WHERE a = 1")
    check(user, "q")


def test_generated_columns_of_partitions(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE p (k int, a int, z int GENERATED ALWAYS AS (a + 1) STORED) PARTITION BY LIST (k)"
    )
    user.execute("CREATE TABLE p1 (z int GENERATED ALWAYS AS (a + 1) STORED, a int, k int)")
    user.execute(
        "ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF p DEFAULT"
    )
    user.execute("INSERT INTO p SELECT g % 3, g FROM generate_series(1, 9) g")
    make(user, "q", "SELECT k, a, z FROM p")
    check(user, "q")
    user.execute("UPDATE p SET k = k + 1; UPDATE p SET a = a * 10 WHERE z > 4; DELETE FROM p WHERE z = 2")
    check(user, "q")


def test_a_table_with_a_virtual_column_is_refused(user: psycopg.Connection) -> None:
    if one(user, "SHOW server_version_num") < "180000":
        user.execute("CREATE TABLE v (a int)")  # there are none
        make(user, "q", "SELECT a FROM v")
        check(user, "q")
        return
    user.execute("CREATE TABLE t (a int, z int GENERATED ALWAYS AS (a * 2) VIRTUAL)")
    error = refused(user, "CREATE STANDING QUERY q AS SELECT a FROM t")
    assert (error.sqlstate, error.hint) == ("0A000", "Make the column STORED.")
    user.execute("CREATE TABLE w (a int PRIMARY KEY); INSERT INTO w VALUES (1)")
    make(user, "r", "SELECT a FROM w")
    user.execute(
        "ALTER TABLE w ADD z int GENERATED ALWAYS AS (a * 2) VIRTUAL; UPDATE w SET a = 2; DELETE FROM w"
    )
    assert status_of(user, "r")[:2] == ("error", "0A000")
    user.execute("INSERT INTO w VALUES (7); ALTER TABLE w DROP z; ALTER STANDING QUERY r RESUME")
    wait_until_answered(user, ["r"])
    user.execute("UPDATE w SET a = 8")
    check(user, "r")
