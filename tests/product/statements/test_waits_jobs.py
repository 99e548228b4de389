"""Statements that end leave no job behind, and many at once do not ask the server for more than it has."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import pq
from psycopg.conninfo import make_conninfo

from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, postgres, wait_until
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.running.waiting_client import (
    ENDS,
    WAIT_SECONDS,
    Waiting,
    by_timeout,
    counted_rows,
    nothing_is_left,
    waiting,
)

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


ENDLESS = "SELECT count(*) AS n FROM big x, big y, big z WHERE x.a + y.a < z.a"
LOOK_SECONDS = 0.5
"""So often the coordinator looks whether somebody still waits."""
UNDER_WAY = "SELECT progress FROM gavial.executions WHERE finished IS NULL AND progress IS NOT NULL"


@pytest.fixture(scope="module")
def endless(proxy: Gavial) -> Iterator[str]:
    """A database with a query of which Spark computes the next result for ever, and one like others."""
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE big (a int); CREATE TABLE small (a int)")
            connection.execute(f"CREATE STANDING QUERY endless AS {ENDLESS}".encode())
            connection.execute("CREATE STANDING QUERY quick AS SELECT a FROM small")
            connection.execute("INSERT INTO big SELECT n FROM generate_series(1, 30000) n")
        yield made


@pytest.mark.parametrize("end", ENDS)
def test_a_refresh_that_ends_ends_its_job(
    endless: str, end: Callable[[Waiting, psycopg.Connection], None]
) -> None:
    settings = ["statement_timeout = '15s'"] if end is by_timeout else []
    with session(endless) as admin:
        with waiting(endless, "REFRESH STANDING QUERY endless", *settings) as statement:
            statement.wait_for_notice("computing the result: part")
            with waiting(endless, "REFRESH STANDING QUERY quick") as queueing:
                words = "waiting while another standing query is computed: public.endless; 1 other "
                queueing.wait_for_notice(f"{words}REFRESH or VERIFY waits too")
                end(statement, admin)
                statement.error()
                queueing.ends_well()
        wait_until(lambda: not admin.execute(UNDER_WAY).fetchall(), "it is still computed", WAIT_SECONDS)
        nothing_is_left(admin)


def test_a_job_that_serves_others_goes_on(endless: str) -> None:
    """Two statements wait for one result, and one of them ends."""
    begun = "SELECT max(id) FROM gavial.executions"
    with session(endless) as admin, session(endless) as other:
        other.execute("BEGIN; LOCK TABLE endless IN SHARE MODE")
        refresh = "REFRESH STANDING QUERY endless"
        with waiting(endless, refresh) as first, waiting(endless, refresh) as second:
            for statement in (first, second):
                statement.wait_for_notice("waiting for process")
            other.execute("COMMIT")
            first.wait_for_notice("computing the result: part")
            number = one(admin, begun)
            first.connection.cancel_safe()
            first.error()
            time.sleep(3 * LOOK_SECONDS)
            assert one(admin, begun) == number
            assert admin.execute(UNDER_WAY).fetchall()
            second.connection.cancel_safe()
            second.error()
        wait_until(lambda: not admin.execute(UNDER_WAY).fetchall(), "it is still computed", WAIT_SECONDS)


SENDERS = 4


@pytest.fixture(scope="module")
def narrow() -> Iterator[str]:
    """A database of a server that has few processes to send changes."""
    settings = {"max_wal_senders": str(SENDERS), "max_replication_slots": "10"}
    with (
        postgres(18, settings=settings) as server,
        gavial(upstream=server) as running,
        counted_rows(running) as made,
    ):
        yield made


def test_many_verify_at_once(narrow: str) -> None:
    queued = "waiting for other VERIFY statements: max_wal_senders"
    with session(narrow) as writer, contextlib.ExitStack() as clients:
        writer.execute("BEGIN; CREATE TABLE unseen (a int)")
        statements = [clients.enter_context(waiting(narrow, "VERIFY STANDING QUERY total")) for _ in range(8)]
        wait_until(
            lambda: sum(statement.has_notice(queued) for statement in statements) == 6,
            "none queues",
            WAIT_SECONDS,
        )
        writer.execute("ROLLBACK")
        for statement in statements:
            statement.ends_well()
    with session(narrow) as admin:
        nothing_is_left(admin)


def test_a_verify_for_which_the_server_has_nothing_left(narrow: str) -> None:
    senders = "SELECT count(*) FROM pg_stat_replication"
    with session(narrow) as admin, contextlib.ExitStack() as others:
        port, host = one(admin, "SHOW port"), "127.0.0.1"
        direct = make_conninfo(narrow, host=host, port=port, user=Server.user, password=Server.password)
        while one(admin, senders) < SENDERS:
            other = pq.PGconn.connect(make_conninfo(direct, replication="database").encode())
            others.callback(other.finish)
            assert other.status == pq.ConnStatus.OK, other.get_error_message()
        error = refused(admin, "VERIFY STANDING QUERY total")
    assert error.sqlstate == "53300"
    assert error.message == "max_wal_senders of the server allows no more at once"
    assert error.hint == "Try again, or raise max_wal_senders and restart the server."
