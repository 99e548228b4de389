"""A client whose statement waits: what it is told meanwhile, and what is left behind when it has ended."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from tests.support.capture.databases import one
from tests.support.running.processes import descendants
from tests.support.running.servers import Gavial, wait_until
from tests.support.running.standing_databases import Refused, fresh_database, refusal_in, session

WAIT_SECONDS = 300
"""Against hanging: a statement gives up by itself, but the machine may be busy with other things."""

_BEGUN = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND (application_name LIKE 'gavial position %'
        OR application_name IN ('gavial snapshot', 'gavial verification', 'gavial statement'))
"""


@dataclass(slots=True)
class Waiting:
    """A statement under way: its session, its outcome, and the notices so far."""

    connection: psycopg.Connection
    outcome: Future[Refused | None]
    notices: list[tuple[str, str, str]] = field(default_factory=list)
    """Message, detail and hint of each."""

    def wait_for_notice(self, words: str) -> tuple[str, str, str]:
        """The first notice that has these words."""
        wait_until(
            lambda: self._find(words) is not None or self.outcome.done(), f"no notice: {words}", WAIT_SECONDS
        )
        found = self._find(words)
        assert found is not None, (words, self.notices, self.outcome.result())
        return found

    def has_notice(self, words: str) -> bool:
        """Whether a notice with these words has come."""
        return self._find(words) is not None

    def _find(self, words: str) -> tuple[str, str, str] | None:
        return next((notice for notice in tuple(self.notices) if words in notice[0]), None)

    def error(self) -> Refused:
        """How it failed."""
        found = self.outcome.result(WAIT_SECONDS)
        assert found is not None, "the statement did well"
        return found

    def ends_well(self) -> None:
        """It does what it was asked for."""
        assert self.outcome.result(WAIT_SECONDS) is None


@contextmanager
def waiting(dsn: str, statement: str, *settings: str) -> Iterator[Waiting]:
    """Run a statement in a session of its own, after these settings."""
    with session(dsn) as connection, ThreadPoolExecutor(1) as pool:
        for setting in settings:
            connection.execute(f"SET {setting}".encode())
        notices: list[tuple[str, str, str]] = []
        connection.add_notice_handler(
            lambda said: notices.append(
                (said.message_primary or "", said.message_detail or "", said.message_hint or "")
            )
        )

        def run() -> Refused | None:
            try:
                connection.execute(statement.encode())
            except psycopg.OperationalError as error:
                if connection.closed:
                    return Refused(error.sqlstate or "", str(error))
                return refusal_in(error)
            except psycopg.Error as error:
                return refusal_in(error)
            return None

        outcome = pool.submit(run)
        try:
            yield Waiting(connection, outcome, notices)
        finally:
            # Where the test has failed, the statement may still wait, and nobody for it.
            if not outcome.done() and not connection.closed:
                connection.cancel_safe()
    assert all(message for message, _detail, _hint in notices), "a notice is empty"


def nothing_is_left(admin: psycopg.Connection) -> None:
    """Of a statement that has ended nothing goes on in the server, and nobody waits for it."""
    wait_until(lambda: one(admin, _BEGUN) == 0, "a session of ours goes on", WAIT_SECONDS)
    slots = "SELECT count(*) FROM pg_replication_slots WHERE temporary AND database = current_database()"
    wait_until(lambda: one(admin, slots) == 0, "a temporary slot stays", WAIT_SECONDS)
    runs = "SELECT count(*) FROM gavial.runs r WHERE state IN ('waiting', 'running') AND EXISTS "
    runs += "(SELECT FROM pg_stat_activity a WHERE a.pid = r.process)"
    wait_until(lambda: one(admin, runs) == 0, "a run stays", WAIT_SECONDS)


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


def coordinator_of(proxy: Gavial) -> int:
    """The process of the coordinator beside a proxy."""
    [found] = workers_of(proxy, "coordinator")
    return found


def workers_of(proxy: Gavial, module: str) -> list[int]:
    """The processes beside a proxy that run a module."""
    return [
        descendant.pid
        for descendant in descendants(proxy.process.pid)
        if f"-m {module}" in descendant.command
    ]


@contextmanager
def counted_rows(proxy: Gavial) -> Iterator[str]:
    """A database with 1000 rows in a table t, and the standing query total, which counts them."""
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE t (a int PRIMARY KEY, b int)")
            connection.execute("INSERT INTO t SELECT n, n % 5 FROM generate_series(1, 1000) n")
            connection.execute("CREATE STANDING QUERY total AS SELECT count(*) AS n FROM t")
        yield made
