"""A bank whose answers are worked by a coordinator that is stopped somewhere, where something is killed."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import psycopg

from catalog.failpoints import VARIABLE
from tests.support.answers.answering import (
    ANSWER_SECONDS,
    ask,
    check,
    ended,
    refresh,
    wait_until_answered,
    wait_until_nothing_is_stray,
)
from tests.support.answers.bank import QUERIES, check_answers, create_queries, open_bank, transfer
from tests.support.capture.databases import Coordinator, coordinator, one
from tests.support.running.processes import alive, descendants, processes
from tests.support.running.servers import Server, wait_until
from tests.support.running.standing_databases import session

CAPTURE: Final = ("capture: batch sealed", "capture: sealed", "capture: committed")
POINTS: Final = (
    "firing: computed",
    "firing: sealed",
    "publish: fired",
    "publish: deleted",
    "publish: before commit",
    "publish: committed",
    *CAPTURE,
)
VICTIMS: Final = ("coordinator", "engine", "backend", "server")

_LEFT: Final = """
    SELECT (SELECT count(*) FROM pg_class WHERE relpersistence = 't'),
           (SELECT count(*) FROM pg_replication_slots WHERE database = current_database())
"""
_BACKEND: Final = """
    SELECT pid FROM pg_stat_activity
    WHERE application_name = 'gavial results' AND datname = current_database()
"""
_SCANS: Final = "SELECT sum(seq_scan)::int8 FROM pg_stat_user_tables WHERE relname IN ('account', 'transfer')"


class Site:
    """A database with the bank, made through a proxy, and a coordinator that can be stopped."""

    def __init__(self, server: Server, dsn: str, home: Path) -> None:
        self.server, self.home = server, home
        self.log, self._failpoint = home / "coordinator.log", home / "failpoint"
        self._ending = ExitStack()
        with session(dsn) as user:
            open_bank(user)
            create_queries(user)
            self.dsn = server.dsn(dbname=str(one(user, "SELECT current_database()")))
        self.running = self._begin()
        with session(self.dsn) as user:
            wait_until_answered(user, QUERIES)
            refresh(user, *QUERIES)
            self._captured_from = _captured_from(user)

    def end(self) -> None:
        """The coordinator ends."""
        self._ending.close()

    def _begin(self) -> Coordinator:
        self.end()
        environment = {VARIABLE: str(self._failpoint)}
        return self._ending.enter_context(
            coordinator(self.dsn, self.home / "warehouse", self.log, environment)
        )

    @contextmanager
    def stopped(self, point: str, hit: int) -> Iterator[list[str]]:
        """The coordinator, asked for all answers, at a point on the way there; what was asked."""
        self._failpoint.write_text(f"{point}:{hit}:stop")
        with session(self.dsn) as user:
            transfer(user, random.Random(f"{point} {hit}"))
            runs = ask(user, "refresh", *QUERIES)
        wait_until(lambda: _state(self.running.process.pid) == "T", f"{point} is not reached", ANSWER_SECONDS)
        yield runs

    def survive(self, point: str, victim: str, hit: int = 1) -> None:
        """Kill at a point of a refresh; afterwards the answers are exact and nothing is left."""
        with session(self.dsn) as user:
            before = check_answers(user)
        with self.stopped(point, hit) as runs:
            with session(self.dsn) as user:
                scans = int(one(user, _SCANS))
            self.kill(victim)
            os.kill(self.running.process.pid, signal.SIGCONT)
        with session(self.dsn) as user:
            for run in runs:
                assert (how := ended(user, run)).state == "done", how
            assert int(one(user, _SCANS)) <= scans, "a table was read again"
            assert _captured_from(user) == self._captured_from, "a table joined again"
            assert check_answers(user) >= before, "a position went back"
            check(user, *QUERIES)
            self.check_what_is_left(user)

    def err(self, point: str) -> None:
        """Have an error at a point that nobody foresaw; afterwards the answers are exact."""
        self._failpoint.write_text(f"{point}:1:err")
        with session(self.dsn) as user:
            transfer(user, random.Random(point))
            check(user, *QUERIES)
        assert "an error that nobody foresaw" in self.log.read_text()

    def kill(self, victim: str) -> None:
        """Kill it, and start it again where nobody else does."""
        spark = [
            descendant.pid
            for descendant in descendants(self.running.process.pid)
            if "java" in descendant.command
        ]
        match victim:
            case "coordinator":
                self.running.process.kill()
                self.running.process.wait()
                wait_until(lambda: not any(map(alive, spark)), "Spark goes on")
                self.running = self._begin()
            case "engine":
                for process in spark:
                    os.kill(process, signal.SIGKILL)
            case "backend":
                with session(self.dsn) as user:
                    if (backend := one(user, _BACKEND)) is not None:
                        os.kill(backend, signal.SIGKILL)
                        wait_until(lambda: not _answers(user), "the server does not notice")
            case "server":
                self.server.kill()
                self.server.start()
        wait_until(self._accepts, "the server does not come back")

    def _accepts(self) -> bool:
        try:
            session(self.dsn).close()
        except psycopg.OperationalError:
            return False
        return True

    def check_what_is_left(self, user: psycopg.Connection) -> None:
        """No file that no manifest names, and nothing of ours in the database that lasts too long."""
        wait_until_nothing_is_stray(user, self.home / "warehouse")
        wait_until(lambda: user.execute(_LEFT).fetchone() == (0, 1), "temporary tables or slots are left")


def _answers(user: psycopg.Connection) -> bool:
    try:
        user.execute("SELECT")
    except psycopg.OperationalError:
        return False
    return True


def _captured_from(user: psycopg.Connection) -> list[tuple[object, ...]]:
    return user.execute("SELECT relation::oid, captured_from FROM gavial.sources ORDER BY 1").fetchall()


def _state(process: int) -> str:
    return next((running.state for running in processes() if running.pid == process), "")
