"""One database with tables to capture: the stream of its changes, and the tables that join and leave."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

import psycopg
from psycopg import Connection

from catalog.backoff import Backoff
from catalog.capture.captured import copy_rewritten, has_slot, has_tables, tell_generated_columns
from catalog.capture.store import Attempt, has_batches, note_failure, take_over
from catalog.errors import DiskFull, Error, InternalError
from catalog.install.installation import is_elsewhere, is_installed
from catalog.queries.running import has_queries
from coordinator.failures import Reports
from coordinator.firing.engine import EngineThread
from coordinator.process.capture_thread import Capturing
from coordinator.process.identity import check_identity, check_rights
from coordinator.process.merging_thread import MergingThread
from coordinator.process.orders import Orders
from coordinator.process.result_loop import ResultLoop
from coordinator.process.retrying import Retrying
from coordinator.results.failing import failure_of
from sources.old_rows.filling import Filling
from sources.server.position import Stopped
from sources.server.session import connect
from sources.tables.dismissal import drop_slot, remove_dismissed, remove_unnamed
from sources.tables.joining import join_tables, tell_of_slot
from sources.tables.losses import forget_lost
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse, error_of

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 1.0
_BEGIN_SECONDS: Final = 0.1
_END_SECONDS: Final = 5.0
_LEAST_PAUSE_SECONDS: Final = 0.5
_SHORTEST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 10.0
"""Shorter than the patience of statements that wait for a coordinator."""


def has_work(connection: Connection) -> bool:
    """Whether there are tables to capture in this database, or there were until lately."""
    return is_installed(connection) and (has_tables(connection) or has_slot(connection))


class Database:
    """Follows one database from its first table to its last."""

    def __init__(self, name: str, address: str, orders: Orders, engine: EngineThread) -> None:
        self._name = name
        self._address = address
        self._orders = orders
        self._engine = engine
        self._stop = threading.Event()
        self._wanted = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"database {name}", daemon=True)
        self._thread.start()

    @property
    def runs(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ask the threads of the database to end."""
        self._stop.set()
        self._wanted.set()

    def hurry(self) -> None:
        """A statement waits: what failed is tried again now."""
        self._wanted.set()

    def wait(self) -> None:
        """Let it end in order, if it does so soon."""
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        backoff, reports = Backoff(_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS), Reports(log)
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._follow()
            except Stopped:
                continue
            except (Error, psycopg.Error, OSError) as error:
                problem = error_of(error) if isinstance(error, OSError) else error
            except Exception as error:
                log.exception("database %r: an error that nobody foresaw", self._name)
                problem = InternalError(failure_of(error).message)
            else:
                return
            words = reports.say(f"database {self._name!r} is not followed", problem)
            state = "paused" if isinstance(problem, DiskFull) else "failed"
            lasted = time.monotonic() - began
            backoff = backoff.after(lasted, _LONGEST_PAUSE_SECONDS)
            self._rest(state, words, Attempt(lasted, backoff.seconds))

    def _rest(self, state: str, words: str, attempt: Attempt) -> None:
        """Say what is wrong, where that is possible, and wait: not long when a statement waits."""
        try:
            with connect(self._address, "gavial") as session:
                if not is_elsewhere(session):
                    note_failure(session, state, words, attempt)
        except psycopg.Error as error:
            log.info("cannot say so in database %r: %s", self._name, error)
        self._wanted.clear()
        if not self._stop.wait(_LEAST_PAUSE_SECONDS):
            self._wanted.wait(attempt.next - _LEAST_PAUSE_SECONDS)

    def _follow(self) -> None:
        """Follow the database until there is nothing to capture, or until asked to stop."""
        with connect(self._address, "gavial coordinator") as session:
            check_rights(session)
            # Also where the rest has to be resumed: an upgrade of the server makes it another one.
            tell_generated_columns(session)
            installation = check_identity(session)
            warehouse = Warehouse(f"{self._orders.warehouse}/{installation}")
            site = CaptureSite(self._address, take_over(session), warehouse)
            session.execute("LISTEN gavial")
            if has_batches(session):
                forget_lost(session, site)
            remove_unnamed(session, site)
            if has_tables(session):
                if has_queries(session):  # and not only capture is needed, but Spark
                    self._engine.warm()
                slot = f"gavial_{installation.hex}"
                scratch = self._orders.engines.scratch / str(installation)
                with (
                    Capturing(site, slot, scratch / "scratch", self._orders.allow_unbounded_wal) as capturing,
                    ResultLoop(site, capturing.position, self._engine) as result_loop,
                    MergingThread(site, result_loop.positions, scratch / "merging") as merging,
                ):
                    self._work(session, site, capturing, result_loop, merging)
            if not self._stop.is_set():
                remove_dismissed(session, site)
                remove_unnamed(session, site)
                drop_slot(session, site)

    def _work(
        self,
        session: Connection,
        site: CaptureSite,
        capturing: Capturing,
        result_loop: ResultLoop,
        merging: MergingThread,
    ) -> None:
        """Work until there are no tables any more; what ends one of the threads is raised here."""

        def go_on() -> bool:
            runs = capturing.runs and result_loop.runs and merging.runs
            return runs and not self._stop.is_set()

        retrying = Retrying()
        filling = Filling(session, site, capturing.mirrors, capturing.position, go_on)
        while go_on() and has_tables(session):
            begun = capturing.position() > 0
            if not begun:
                tell_of_slot(session, site)
            for table in copy_rewritten(session, site.epoch):
                log.info("table %s: a partition lies in another file; it is copied again", table)
            retrying.step(session)
            if not begun or not join_tables(session, site, capturing.position, go_on, result_loop.discard):
                if begun:
                    filling.work()
                remove_dismissed(session, site)
                for _ in session.notifies(timeout=_POLL_SECONDS if begun else _BEGIN_SECONDS, stop_after=1):
                    pass
        filling.remove_unnamed()
        capturing.check()
        result_loop.check()
        merging.check()
