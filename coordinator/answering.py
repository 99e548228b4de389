"""Answers the standing queries of one database: one thread, one decision after the other."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection, Connection

from catalog.errors import Error
from catalog.running import (
    Run,
    Running,
    finish_run,
    running_queries,
    save_differences,
    set_status,
    waiting_runs,
)
from catalog.signatures import Signatures
from catalog.signatures_postgres import read_signatures
from catalog.store import hold_epoch
from coordinator.clock import next_time, rows_due
from coordinator.engine import Engine
from coordinator.failures import in_one_line
from coordinator.query import StandingQuery
from sources.login import connect
from sources.place import Place

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.2
_RETRY_SECONDS: Final = 2.0
_LONGEST_RETRY_SECONDS: Final = 300.0


class Answers:
    """Answers inside its context, in a thread; what ends it before is raised by `check`."""

    def __init__(self, place: Place, position: Callable[[], int], engine: Engine) -> None:
        self._stop = threading.Event()
        self._thread = ThreadPoolExecutor(1, "answers")
        self._outcome = self._thread.submit(Answering(place, position, engine).run, self._stop)

    def __enter__(self) -> Answers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.shutdown(wait=False)

    @property
    def runs(self) -> bool:
        """Whether it is at work."""
        return not self._outcome.done()

    def check(self) -> None:
        """Raise what ended it, if anything did."""
        if self._outcome.done():
            self._outcome.result()


@dataclass(frozen=True, slots=True)
class _Retry:
    """Until when a query that failed is left alone, and for how long after it fails again."""

    until: float = 0.0
    seconds: float = _RETRY_SECONDS

    def is_over(self) -> bool:
        return time.monotonic() >= self.until

    def longer(self) -> _Retry:
        return _Retry(time.monotonic() + self.seconds, min(2 * self.seconds, _LONGEST_RETRY_SECONDS))


class Answering:
    """The queries of a database, from the first firing of each to its last."""

    def __init__(self, place: Place, position: Callable[[], int], engine: Engine) -> None:
        self._place = place
        self._position = position
        self._engine = engine
        self._queries: dict[UUID, StandingQuery] = {}
        self._signatures: Signatures | None = None
        self._retries: defaultdict[UUID, _Retry] = defaultdict(_Retry)

    def run(self, stop: threading.Event) -> None:
        """Until told otherwise; what fails is said where users look, and tried again."""
        with connect(self._place.address, "gavial answers") as connection:
            connection.execute("LISTEN gavial")
            while not stop.is_set():
                self._look(connection, lambda: not stop.is_set())
                for _ in connection.notifies(timeout=_POLL_SECONDS, stop_after=1):
                    pass

    def _look(self, connection: Connection, go_on: Callable[[], bool]) -> None:
        """Everything that is due now."""
        queries = running_queries(connection)
        runs = waiting_runs(connection)
        self._queries = {each.id: self._queries[each.id] for each in queries if each.id in self._queries}
        for each in queries:
            wanted = [run for run in runs if run.query == each.id]
            if self._is_due(connection, each, [run for run in wanted if run.kind == "refresh"]):
                self._answer(connection, each, wanted)
            elif each.status == "active":
                for run in wanted:
                    if run.kind == "verify":
                        self._verify(connection, each, run, go_on)

    def _is_due(self, connection: Connection, query: Running, runs: Sequence[Run]) -> bool:
        if query.status == "suspended":
            for run in runs:
                self._fail(connection, run, "55000", "the standing query is suspended")
            return False
        if not self._retries[query.id].is_over():
            return False
        if query.status == "initialising" or (query.status == "error" and not query.answered):
            return _is_captured(connection, query)
        if runs:
            return self._position() >= min(run.target for run in runs)
        return self._is_triggered(connection, query)

    def _is_triggered(self, connection: Connection, query: Running) -> bool:
        trigger = query.options.get("TRIGGER", "on demand")
        last = _last_fired(connection, query)
        due = next_time(trigger, last, ZoneInfo(query.settings.get("TimeZone", "UTC")))
        if due is not None and due <= datetime.now(UTC):
            return True
        most = rows_due(trigger)
        return most is not None and self._known(connection, query).rows_waiting(connection) >= most

    def _answer(self, connection: Connection, query: Running, runs: Sequence[Run]) -> None:
        position = self._position()
        met = [run for run in runs if run.kind == "refresh" and run.target <= position]
        try:
            standing = self._known(connection, query)
            if not standing.answer(connection, query, position):
                return
            for run in met:
                finish_run(connection, run.id, position, {})
            self._retries.pop(query.id, None)
        except Error as error:
            log.info("standing query %s.%s: %s", query.schema, query.name, in_one_line(error))
            with connection.transaction():
                hold_epoch(connection, self._place.epoch)
                set_status(connection, query.id, "error", error.sqlstate, in_one_line(error))
                for run in met:
                    self._fail(connection, run, error.sqlstate, error.message, error.detail, error.hint)
            self._retries[query.id] = self._retries[query.id].longer()

    def _known(self, connection: Connection, query: Running) -> StandingQuery:
        known = self._queries.get(query.id)
        if known is None or query.status == "initialising":
            known = StandingQuery.plan(connection, self._place, self._engine, query, self._types())
            self._queries[query.id] = known
        return known

    def _types(self) -> Signatures:
        if self._signatures is None:
            self._signatures = asyncio.run(_read_signatures(self._place.address))
        return self._signatures

    def _verify(self, connection: Connection, query: Running, run: Run, go_on: Callable[[], bool]) -> None:
        try:
            standing = self._known(connection, query)
            position, found = standing.verify(connection, query, self._position, go_on)
            with connection.transaction():
                save_differences(connection, run.id, found)
                finish_run(connection, run.id, position, {})
        except Error as error:
            self._fail(connection, run, error.sqlstate, error.message, error.detail, error.hint)

    def _fail(
        self,
        connection: Connection,
        run: Run,
        sqlstate: str,
        message: str,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        failure = {"sqlstate": sqlstate, "message": message, "detail": detail, "hint": hint}
        finish_run(connection, run.id, None, failure)


async def _read_signatures(address: str) -> Signatures:
    async with await AsyncConnection.connect(address) as connection:
        return await read_signatures(connection)


def _is_captured(connection: Connection, query: Running) -> bool:
    """Whether all that the query reads is in the warehouse."""
    found = connection.execute(
        "SELECT FROM gavial.reads r LEFT JOIN gavial.sources s USING (relation) "
        "WHERE r.query_id = %s AND s.state IS DISTINCT FROM 'captured'",
        (query.id,),
    )
    return found.rowcount == 0


def _last_fired(connection: Connection, query: Running) -> datetime:
    row = connection.execute(
        "SELECT coalesce(max(fired), now()) FROM gavial.triggers WHERE query_id = %s", (query.id,)
    ).fetchone()
    assert row is not None
    fired: datetime = row[0]
    return fired
