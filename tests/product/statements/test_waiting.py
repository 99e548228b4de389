"""CREATE, REFRESH and VERIFY wait for the coordinator, as statements that can be cancelled (G1, G7, G12)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import psycopg
import pytest

from tests.support.answers.answering import status_of, wait_until_answered
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, postgres, wait_until
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.running.waiting_client import counted_rows

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="module")
def dsn(proxy: Gavial) -> Iterator[str]:
    with counted_rows(proxy) as made:
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with session(dsn) as connection:
        yield connection


def test_create_returns_with_its_answer(user: psycopg.Connection) -> None:
    said: list[str | None] = []
    user.add_notice_handler(lambda notice: said.append(notice.message_primary))
    made = user.execute(
        "CREATE STANDING QUERY groups AS SELECT b, count(*) AS n FROM t WHERE a <= 1000 GROUP BY b"
    )
    assert made.statusmessage == "CREATE STANDING QUERY"
    assert user.execute("TABLE groups ORDER BY b").fetchall() == [(b, 200) for b in range(5)]
    assert "computing the result" in said
    user.execute(
        "CREATE OR REPLACE STANDING QUERY groups AS "
        "SELECT b, count(*) + 1 AS n FROM t WHERE a <= 1000 GROUP BY b"
    )
    assert user.execute("TABLE groups ORDER BY b").fetchall() == [(b, 201) for b in range(5)]


def test_create_in_a_block_returns_at_once(user: psycopg.Connection) -> None:
    with user.transaction():
        user.execute("CREATE STANDING QUERY later AS SELECT a FROM t WHERE b = 1 AND a <= 1000")
        assert one(user, "SELECT count(*) FROM later") == 0
    wait_until_answered(user, ["later"])
    assert one(user, "SELECT count(*) FROM later") == 200


def test_a_create_that_is_cancelled_stays(dsn: str, user: psycopg.Connection) -> None:
    said: list[str | None] = []
    user.add_notice_handler(lambda notice: said.append(notice.sqlstate))
    user.execute("CREATE TABLE new (a int PRIMARY KEY); INSERT INTO new VALUES (1)")
    with session(dsn) as other, ThreadPoolExecutor(1) as pool:
        # Who has written holds up the copy of a table that is new to capture.
        other.execute("BEGIN; INSERT INTO t VALUES (-100, 0)")
        making = pool.submit(user.execute, "CREATE STANDING QUERY slow AS SELECT a FROM new")
        found = "SELECT count(*) FROM gavial.standing_queries WHERE name = 'slow'"
        wait_until(lambda: one(other, found) == 1, "it is not made")
        user.cancel_safe()
        assert making.result().statusmessage == "CREATE STANDING QUERY"
        other.execute("COMMIT")
    assert "57014" in said
    user.execute("REFRESH STANDING QUERY slow")
    assert user.execute("TABLE slow").fetchall() == [(1,)]


def test_refresh_includes_all_that_was_committed_before(dsn: str, user: psycopg.Connection) -> None:
    committed, stop = [one(user, "SELECT count(*) FROM t")], threading.Event()

    def write() -> None:
        with session(dsn) as writer:
            for number in range(10_000, 10_000_000):
                writer.execute("INSERT INTO t VALUES (%s, 0)", (number,))
                committed.append(committed[-1] + 1)
                if stop.wait(0.005):
                    return

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        for _ in range(20):
            before = committed[-1]
            user.execute("REFRESH STANDING QUERY total")
            assert one(user, "SELECT n FROM total") >= before
        stop.set()
        writing.result()


def test_two_clients_refresh_at_once(dsn: str) -> None:
    def refresh(number: int) -> int:
        with session(dsn) as client:
            client.execute("INSERT INTO t VALUES (%s, 1)", (-number,))
            client.execute("REFRESH STANDING QUERY total")
            return int(one(client, "SELECT n - (SELECT count(*) FROM t WHERE a > 0) FROM total"))

    with ThreadPoolExecutor(2) as pool:
        assert max(pool.map(refresh, (1, 2))) >= 2


@pytest.mark.parametrize("statement", ["REFRESH STANDING QUERY total", "VERIFY STANDING QUERY total"])
def test_in_a_block(user: psycopg.Connection, statement: str) -> None:
    words = f"{statement.removesuffix(' total')} cannot run inside a transaction block"
    assert refused(user, f"SELECT 1; {statement}").sqlstate == "25001"
    user.execute("BEGIN")
    found = refused(user, statement)
    assert (found.sqlstate, found.message) == ("25001", words)
    user.execute("ROLLBACK")
    user.execute(statement.encode(), prepare=True)
    user.execute("BEGIN")
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        user.execute(statement.encode(), prepare=True)
    user.execute("ROLLBACK")


def test_an_error_in_data_is_the_refresh_s(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE d (a int PRIMARY KEY); INSERT INTO d VALUES (1)")
    user.execute("CREATE STANDING QUERY inverse AS SELECT 10 / a AS n FROM d")
    user.execute("INSERT INTO d VALUES (0)")
    found = refused(user, "REFRESH STANDING QUERY inverse")
    assert (found.sqlstate, found.message) == ("22012", "division by zero")
    user.execute("DELETE FROM d WHERE a = 0")
    user.execute("REFRESH STANDING QUERY inverse")
    assert status_of(user, "inverse")[0] == "active"


def test_a_cancelled_refresh_leaves_no_run(user: psycopg.Connection) -> None:
    user.execute("INSERT INTO t VALUES (0, 0)")
    user.execute("SET statement_timeout = '20ms'")
    assert refused(user, "REFRESH STANDING QUERY total").sqlstate == "57014"
    user.execute("RESET statement_timeout")
    assert one(user, "SELECT count(*) FROM gavial.runs WHERE state IN ('waiting', 'running')") == 0


def test_verify_finds_what_was_forged(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE v (a int PRIMARY KEY); INSERT INTO v VALUES (1), (2)")
    user.execute("CREATE STANDING QUERY copied AS SELECT a FROM v")
    assert user.execute("VERIFY STANDING QUERY copied").fetchall() == []
    user.execute("SET session_replication_role = replica")
    user.execute("UPDATE copied SET a = 3 WHERE a = 2")
    user.execute("RESET session_replication_role")
    found = user.execute("VERIFY STANDING QUERY copied")
    assert [column.name for column in found.description or ()] == ["side", "row", "count"]
    assert found.fetchall() == [("missing", "(2)", 1), ("superfluous", "(3)", 1)]
    wait_until(lambda: one(user, "SELECT count(*) FROM gavial.differences") == 0, "differences stay")


def test_asyncpg(dsn: str, user: psycopg.Connection) -> None:
    async def work() -> list[tuple[int]]:
        connection = await asyncpg.connect(dsn)
        try:
            await connection.execute("CREATE STANDING QUERY by_asyncpg AS SELECT a FROM t WHERE a = 7")
            prepared = await connection.prepare("REFRESH STANDING QUERY by_asyncpg")
            await prepared.fetch()
            await prepared.fetch()
            assert await connection.fetch("VERIFY STANDING QUERY by_asyncpg") == []
            return [tuple(row) for row in await connection.fetch("TABLE by_asyncpg")]
        finally:
            await connection.close()

    assert asyncio.run(work()) == [(7,)]
    assert status_of(user, "by_asyncpg")[0] == "active"


def test_without_a_coordinator() -> None:
    """Before a server of its own: another gavial's coordinator would do the work."""
    with (
        postgres(18) as server,
        gavial("--proxy-only", upstream=server) as proxy,
        fresh_database(proxy) as made,
        session(made) as connection,
    ):
        connection.execute("CREATE TABLE t (a int PRIMARY KEY)")
        connection.execute("CREATE STANDING QUERY q AS SELECT a FROM t")
        found = refused(connection, "REFRESH STANDING QUERY q")
        assert (found.sqlstate, found.message) == ("57P03", "no coordinator is at work on this database")
        assert found.hint
