"""Statements that wait say for what, end where nothing is done for them, and leave nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.running.waiting_client import (
    ENDS,
    WAIT_SECONDS,
    Waiting,
    by_timeout,
    coordinator_of,
    counted_rows,
    nothing_is_left,
    waiting,
    workers_of,
)

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
        with waiting(slow, "VERIFY STANDING QUERY joined USING POSTGRES", *settings) as statement:
            wait_until(lambda: one(admin, copies) == 1, "PostgreSQL is not asked", WAIT_SECONDS)
            statement.wait_for_notice("comparing with PostgreSQL's own result")
            admin.execute("REFRESH STANDING QUERY joined")
            with waiting(slow, "VERIFY STANDING QUERY joined USING SPARK") as queueing:
                words = "waiting while standing query public.joined is verified; 1 other REFRESH or VERIFY"
                queueing.wait_for_notice(words)
                queueing.connection.cancel_safe()
                queueing.error()
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


def test_a_table_that_is_stopped_is_tried_again_for_what_waits(user: psycopg.Connection) -> None:
    """However long it would rest by itself; its new copy has what its changes did not tell."""
    user.execute("CREATE TABLE broken (a int PRIMARY KEY, b int); INSERT INTO broken VALUES (1, 1)")
    user.execute("CREATE STANDING QUERY of_broken AS SELECT sum(b) AS n FROM broken")
    stopped = "SELECT state = 'stopped' FROM gavial.sources WHERE relation = 'broken'::regclass"
    for number in range(2, 8):
        user.execute("ALTER EVENT TRIGGER gavial_structure DISABLE")
        user.execute("ALTER TABLE broken REPLICA IDENTITY DEFAULT")
        user.execute("UPDATE broken SET b = %s", (number,))
        user.execute("ALTER EVENT TRIGGER gavial_structure ENABLE")
        user.execute("REFRESH STANDING QUERY of_broken")
        assert user.execute("TABLE of_broken").fetchall() == [(number,)]
        assert not one(user, stopped)
    user.execute("DROP STANDING QUERY of_broken")


def test_a_table_that_is_tried_again_in_vain_ends_what_waits(user: psycopg.Connection) -> None:
    """One attempt that began after the statement; CREATE keeps its query."""
    user.execute("CREATE TABLE hidden (a int PRIMARY KEY); INSERT INTO hidden VALUES (1)")
    user.execute("CREATE STANDING QUERY of_hidden AS SELECT a FROM hidden")
    with user.transaction():
        user.execute("ALTER PUBLICATION gavial DROP TABLE hidden")
        user.execute(
            "UPDATE gavial.sources SET state = 'stopped', detail = 'not in the publication' "
            "WHERE relation = 'hidden'::regclass"
        )
    for statement in ("REFRESH STANDING QUERY of_hidden", "VERIFY STANDING QUERY of_hidden"):
        error = refused(user, statement)
        assert error.sqlstate == "55000"
        assert "not in the publication" in error.detail.lower()
        assert "tried again" in error.hint
    error = refused(user, "REFRESH STANDING QUERY total, of_hidden")
    assert error.message == "1 of 2 standing queries are not refreshed: of_hidden"
    user.execute("DROP STANDING QUERY of_hidden")


def test_a_refresh_of_several_reports_each(dsn: str, user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE d (a int PRIMARY KEY); INSERT INTO d VALUES (1)")
    user.execute("CREATE STANDING QUERY inverse AS SELECT 10 / a AS n FROM d")
    user.execute('CREATE STANDING QUERY "Root" AS SELECT sqrt(a) AS n FROM d')
    user.execute("CREATE STANDING QUERY kept AS SELECT a FROM d")
    user.execute("INSERT INTO d VALUES (0), (-1)")
    with waiting(dsn, 'REFRESH STANDING QUERY inverse, kept, "Root", total') as statement:
        error = statement.error()
        statement.wait_for_notice("standing query inverse is not refreshed: division by zero")
        statement.wait_for_notice('standing query "Root" is not refreshed: cannot take square root')
    assert error.sqlstate == "22012"
    assert error.message == '2 of 4 standing queries are not refreshed: inverse, "Root"'
    assert error.detail.startswith('inverse: Division by zero.\n"Root": Cannot take square root')
    assert user.execute("TABLE kept ORDER BY a").fetchall() == [(-1,), (0,), (1,)]
    user.execute("DELETE FROM d WHERE a < 1")
    user.execute('REFRESH STANDING QUERY inverse, kept, "Root", total')
    user.execute('DROP STANDING QUERY inverse, kept, "Root"')


def test_one_of_several_is_dropped(dsn: str, user: psycopg.Connection) -> None:
    user.execute("CREATE STANDING QUERY gone AS SELECT a FROM t WHERE a < 10")
    user.execute("INSERT INTO t VALUES (-10, 0)")
    with session(dsn) as other:
        other.execute("BEGIN; LOCK TABLE gone IN SHARE MODE")
        with waiting(dsn, "REFRESH STANDING QUERY gone, total") as statement:
            statement.wait_for_notice("waiting for process")
            other.execute("DROP STANDING QUERY gone; COMMIT")
            error = statement.error()
    assert (error.sqlstate, error.message) == (
        "42704",
        "1 of 2 standing queries are not refreshed: gone",
    )
    assert one(user, "SELECT n = (SELECT count(*) FROM t) FROM total")


def test_create_that_does_not_wait_says_so(user: psycopg.Connection) -> None:
    said: list[tuple[str, str, str]] = []
    user.add_notice_handler(
        lambda told: said.append(
            (told.message_primary or "", told.message_detail or "", told.message_hint or "")
        )
    )
    shown = "SELECT status, detail, position FROM gavial.shown WHERE name = 'early'"
    create = "CREATE {} STANDING QUERY early AS SELECT {} FROM t WHERE a BETWEEN 1 AND 1000 {}"
    for prepare in (False, True):
        said.clear()
        with user.transaction():
            user.execute(create.format("", "a", "WITH NO DATA" if prepare else "").encode(), prepare=prepare)
            assert user.execute(shown).fetchall() == [
                ("initialising", "the result is not computed yet", None)
            ]
        [(message, detail, hint)] = said
        assert message == "the result of standing query public.early is not computed yet"
        assert detail == "It is computed after COMMIT. Until then its table has no rows."
        assert "REFRESH STANDING QUERY public.early waits for it" in hint
        user.execute("REFRESH STANDING QUERY early")
        assert user.execute(shown).fetchall()[0][:2] == ("active", None)
        said.clear()
        with user.transaction():
            user.execute(create.format("OR REPLACE", "a + 1 AS a", "WITH NO DATA").encode(), prepare=prepare)
            assert user.execute(shown).fetchall()[0][1] == "the new result is not computed yet"
        assert said[0][1].endswith("Until then its table has the result of the query that was replaced.")
        user.execute("REFRESH STANDING QUERY early")
        user.execute("DROP STANDING QUERY early")


def test_what_waits_for_the_proxy_says_so(dsn: str, user: psycopg.Connection) -> None:
    with session(dsn) as other:
        other.execute("BEGIN; LOCK TABLE gavial.runs IN SHARE MODE")
        with waiting(dsn, "VERIFY STANDING QUERY total") as statement:
            statement.wait_for_notice("waiting for the proxy to enter VERIFY STANDING QUERY")
            other.execute("COMMIT")
            statement.ends_well()
    nothing_is_left(user)


def test_what_waits_to_be_judged_says_so(proxy: Gavial, dsn: str, user: psycopg.Connection) -> None:
    user.execute("CREATE STANDING QUERY judged AS SELECT a FROM t WHERE a < 5")
    judging = workers_of(proxy, "proxy.judging.process")
    for process in judging:
        os.kill(process, signal.SIGSTOP)
    try:
        with waiting(
            dsn, "CREATE OR REPLACE STANDING QUERY judged AS SELECT a FROM t WHERE a < 6"
        ) as statement:
            statement.wait_for_notice("waiting for the proxy to check and plan the query")
            for process in judging:
                os.kill(process, signal.SIGCONT)
            statement.ends_well()
    finally:
        for process in judging:
            os.kill(process, signal.SIGCONT)
    user.execute("DROP STANDING QUERY judged")


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
            assert error.hint == "ALTER STANDING QUERY public.q RESUME"
        connection.execute("INSERT INTO t VALUES (2)")
        connection.execute("ALTER STANDING QUERY q RESUME")
        connection.execute("REFRESH STANDING QUERY q")
        assert connection.execute("TABLE q ORDER BY a").fetchall() == [(1,), (2,)]
