"""Statements that wait say for what, end where nothing is done for them, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.capturing import one
from tests.servers import Gavial, Server, gavial, wait_until
from tests.standing import fresh_database, refused, session
from tests.waiting import WAIT_SECONDS, Waiting, coordinator_of, nothing_is_left, waiting

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="module")
def dsn(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE t (a int PRIMARY KEY, b int)")
            connection.execute("INSERT INTO t SELECT n, n % 5 FROM generate_series(1, 1000) n")
            connection.execute("CREATE STANDING QUERY total AS SELECT count(*) AS n FROM t")
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with session(dsn) as connection:
        yield connection


def by_cancelling(statement: Waiting, _admin: psycopg.Connection) -> None:
    statement.connection.cancel_safe()


def by_terminating(statement: Waiting, admin: psycopg.Connection) -> None:
    admin.execute("SELECT pg_terminate_backend(%s)", (statement.connection.info.backend_pid,))


def by_disconnecting(statement: Waiting, _admin: psycopg.Connection) -> None:
    with socket.socket(fileno=os.dup(statement.connection.fileno())) as client:
        client.shutdown(socket.SHUT_RDWR)


def by_timeout(statement: Waiting, _admin: psycopg.Connection) -> None:
    """It has one of its own."""
    assert statement.error().sqlstate == "57014"


ENDS = (by_cancelling, by_terminating, by_disconnecting, by_timeout)


@pytest.mark.parametrize("end", ENDS)
def test_a_verify_that_waits_for_a_writer_ends(
    dsn: str, user: psycopg.Connection, end: Callable[[Waiting, psycopg.Connection], None]
) -> None:
    """While the server waits for an open transaction, before there is a snapshot."""
    settings = ["statement_timeout = '8s'"] if end is by_timeout else []
    with session(dsn) as writer:
        writer.execute("BEGIN; CREATE TABLE unseen (a int)")
        with waiting(dsn, "VERIFY STANDING QUERY total", *settings) as statement:
            _message, _detail, hint = statement.wait_for_notice(f"process {writer.info.backend_pid} of")
            assert f"pg_terminate_backend({writer.info.backend_pid})" in hint
            end(statement, user)
            statement.error()
        nothing_is_left(user)
        writer.execute("ROLLBACK")
    assert user.execute("VERIFY STANDING QUERY total").fetchall() == []


@pytest.fixture(scope="module")
def slow(proxy: Gavial) -> Iterator[str]:
    """A database with a query that PostgreSQL alone is slow at: it takes hours."""
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE pairs (a int, b int)")
            connection.execute("INSERT INTO pairs SELECT n, n FROM generate_series(1, 300000) n")
            connection.execute(
                "CREATE STANDING QUERY joined AS SELECT count(*) AS n FROM pairs x JOIN pairs y ON x.a = y.b"
            )
            name = one(connection, "SELECT current_database()")
            for method in ("hashjoin", "mergejoin", "indexscan", "bitmapscan"):
                connection.execute(f"ALTER DATABASE {name} SET enable_{method} = off".encode())
        yield made


@pytest.mark.parametrize("end", ENDS)
def test_a_verify_that_compares_ends(slow: str, end: Callable[[Waiting, psycopg.Connection], None]) -> None:
    """While PostgreSQL computes its own result, under a snapshot."""
    settings = ["statement_timeout = '20s'"] if end is by_timeout else []
    copies = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY (SELECT%' AND state = 'active' "
    copies += "AND backend_type = 'client backend'"
    with session(slow) as admin:
        with waiting(slow, "VERIFY STANDING QUERY joined", *settings) as statement:
            wait_until(lambda: one(admin, copies) == 1, "PostgreSQL is not asked", WAIT_SECONDS)
            statement.wait_for_notice("comparing with PostgreSQL's own result")
            end(statement, admin)
            statement.error()
        nothing_is_left(admin)
        admin.execute("REFRESH STANDING QUERY joined")


def test_a_refresh_waits_for_who_has_locked_the_result(dsn: str, user: psycopg.Connection) -> None:
    user.execute("INSERT INTO t VALUES (-1, 0)")
    with session(dsn) as other:
        other.execute("BEGIN; LOCK TABLE total IN SHARE MODE")
        blocker = f"process {other.info.backend_pid} of"
        with waiting(dsn, "REFRESH STANDING QUERY total", "lock_timeout = '3s'") as statement:
            statement.wait_for_notice(blocker)
            error = statement.error()
            assert error.sqlstate == "55P03"
            assert blocker in error.message
            assert f"pg_terminate_backend({other.info.backend_pid})" in error.hint
        with waiting(dsn, "REFRESH STANDING QUERY total") as statement:
            statement.wait_for_notice(blocker)
            other.execute("COMMIT")
            statement.ends_well()
    assert one(user, "SELECT n = (SELECT count(*) FROM t) FROM total")


def test_create_says_who_else_changes_standing_queries(dsn: str, user: psycopg.Connection) -> None:
    with session(dsn) as other:
        other.execute("BEGIN; CREATE STANDING QUERY first AS SELECT a FROM t WHERE a = 1")
        with waiting(dsn, "CREATE STANDING QUERY second AS SELECT a FROM t WHERE a = 2") as statement:
            statement.wait_for_notice(f"waiting for process {other.info.backend_pid} of")
            other.execute("COMMIT")
            statement.ends_well()
    assert user.execute("TABLE second").fetchall() == [(2,)]


def test_a_table_that_is_stopped_ends_what_waits(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE broken (a int PRIMARY KEY, b int); INSERT INTO broken VALUES (1, 1)")
    user.execute("CREATE STANDING QUERY of_broken AS SELECT sum(b) AS n FROM broken")
    user.execute("ALTER EVENT TRIGGER gavial_structure DISABLE")
    user.execute("ALTER TABLE broken REPLICA IDENTITY DEFAULT; UPDATE broken SET b = 2")
    user.execute("ALTER EVENT TRIGGER gavial_structure ENABLE")
    for statement in ("REFRESH STANDING QUERY of_broken", "VERIFY STANDING QUERY of_broken"):
        assert "without its whole old row" in str(refused(user, statement))
    user.execute("REFRESH STANDING QUERY total")
    user.execute("DROP STANDING QUERY of_broken")


def test_a_coordinator_that_is_asleep(proxy: Gavial, dsn: str, user: psycopg.Connection) -> None:
    process = coordinator_of(proxy)
    os.kill(process, signal.SIGSTOP)
    try:
        with waiting(dsn, "REFRESH STANDING QUERY total") as asked:
            asked.wait_for_notice("waiting for the coordinator, which was last seen at")
            error = asked.error()
        assert (error.sqlstate, error.message) == ("57P03", "the coordinator does not answer")
        assert error.hint
        assert refused(user, "VERIFY STANDING QUERY total").message == "the coordinator does not answer"
    finally:
        os.kill(process, signal.SIGCONT)
    user.execute("REFRESH STANDING QUERY total")
    assert user.execute("VERIFY STANDING QUERY total").fetchall() == []


def test_a_coordinator_that_is_killed_is_waited_for(
    proxy: Gavial, dsn: str, user: psycopg.Connection
) -> None:
    user.execute("INSERT INTO t VALUES (-2, 0)")
    os.kill(coordinator_of(proxy), signal.SIGKILL)
    with waiting(dsn, "REFRESH STANDING QUERY total") as statement:
        statement.ends_well()
    assert one(user, "SELECT n = (SELECT count(*) FROM t) FROM total")


def test_a_restored_database(proxy: Gavial) -> None:
    """A query is suspended until it is resumed, and nothing waits for the coordinator's next attempt."""
    with fresh_database(proxy) as made, session(made) as connection:
        connection.execute("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)")
        connection.execute("CREATE STANDING QUERY q AS SELECT a FROM t")
        connection.execute("UPDATE gavial.installation SET system_identifier = 1")
        os.kill(coordinator_of(proxy), signal.SIGKILL)
        wait_until(
            lambda: "is a copy or was restored" in proxy.log.read_text(), "nobody notices", WAIT_SECONDS
        )
        for statement in ("REFRESH STANDING QUERY q", "VERIFY STANDING QUERY q"):
            error = refused(connection, statement)
            assert (error.sqlstate, error.message) == ("55000", 'standing query "q" is suspended')
            assert error.hint == "ALTER STANDING QUERY q RESUME"
        connection.execute("INSERT INTO t VALUES (2)")
        connection.execute("ALTER STANDING QUERY q RESUME")
        connection.execute("REFRESH STANDING QUERY q")
        assert connection.execute("TABLE q ORDER BY a").fetchall() == [(1,), (2,)]
