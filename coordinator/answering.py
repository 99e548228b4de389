"""Answers the standing queries of one database: one thread, one decision after the other."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Final
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, Connection

from catalog.errors import EngineLost, Error, Fenced
from catalog.failpoints import failpoint
from catalog.running import (
    Run,
    Running,
    fail_query,
    fail_run,
    finish_run,
    forget_history,
    forget_node_batches,
    is_wanted,
    running_queries,
    waiting_runs,
)
from catalog.signatures import Signatures
from catalog.signatures_postgres import read_signatures
from catalog.store import hold_epoch
from coordinator.ahead import Ahead
from coordinator.due import Due, groups, is_first, is_triggered
from coordinator.engine import Cancelled, Engine
from coordinator.failing import Patience, failure_of, is_passing, needs_resume, status_after, why_not
from coordinator.fired import Clock
from coordinator.merging import Merging
from coordinator.query import Ready, StandingQuery
from coordinator.scheduling import Scheduling
from coordinator.verifications import Verifications
from sources.login import connect
from sources.place import Place

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.5
_ARRIVAL_SECONDS: Final = 0.02
_HOUSEKEEPING_SECONDS: Final = 3600.0


class Answers:
    """Answers inside its context, in a thread; what ends it before is raised by `check`."""

    def __init__(self, place: Place, position: Callable[[], int], engine: Engine) -> None:
        self._stop = threading.Event()
        self._thread = ThreadPoolExecutor(1, "answers")
        answering = Answering(place, position, engine, self._stop)
        self.discard = answering.discard
        self._outcome = self._thread.submit(answering.run)

    def __enter__(self) -> Answers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.shutdown()

    @property
    def runs(self) -> bool:
        """Whether it is at work."""
        return not self._outcome.done()

    def check(self) -> None:
        """Raise what ended it, if anything did."""
        if self._outcome.done():
            self._outcome.result()


@dataclass(frozen=True, slots=True)
class _Computed:
    """What is about to be published, and for whom."""

    due: Due
    standing: StandingQuery
    ready: Ready


class Answering:
    """The queries of a database, from the first firing of each to its last."""

    def __init__(
        self, place: Place, position: Callable[[], int], engine: Engine, stop: threading.Event
    ) -> None:
        self._place = place
        self._position = position
        self._engine = engine
        self._stop = stop
        self._known: dict[UUID, StandingQuery] = {}
        self._whole: set[UUID] = set()
        self._patience: defaultdict[UUID, Patience] = defaultdict(Patience)
        self._failed_at: dict[UUID, int] = {}
        self._signatures: Signatures | None = None
        self._awaited: list[int] = []
        self._looked_at = 0
        self._kept_house = float("-inf")
        self._merging = Merging(place, position)
        self._scheduling = Scheduling(place, self._standing)
        self._ahead = Ahead(position, self._standing, self._wanted)
        self._verifications = Verifications(place.address, position, self._standing, self._wanted)

    def run(self) -> None:
        """Until told otherwise; what fails is said where users look, and tried again."""
        with connect(self._place.address, "gavial answers") as connection:
            connection.execute("LISTEN gavial")
            try:
                while not self._stop.is_set():
                    if not self._look(connection):
                        self._wait(connection)
                self._collect_garbage(connection)
            finally:
                self._verifications.release()

    def discard(self, files: Iterable[str]) -> None:
        """Delete files of the warehouse as soon as nobody reads them; any thread may ask for it."""
        self._merging.discard(files)

    def _wait(self, connection: Connection) -> None:
        """Until something was changed, or what somebody waits for has been captured."""
        end = time.monotonic() + _POLL_SECONDS
        awaited = [*self._awaited, *self._verifications.awaited()]
        before = self._looked_at
        while not self._stop.is_set() and (left := end - time.monotonic()) > 0:
            position = self._position()
            if any(before < each <= position for each in awaited):
                return
            seconds = min(left, _ARRIVAL_SECONDS) if awaited else left
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                return

    def _look(self, connection: Connection) -> bool:
        """Everything that is owed now; where nothing is, a part of what can be done ahead.

        False if nobody knows of more.
        """
        self._looked_at = self._position()
        queries = running_queries(connection)
        runs = waiting_runs(connection)
        self._forget_others(connection, queries)
        stopped = {each.id: each for each in queries if needs_resume(each)}
        for run in runs:
            if run.query in stopped:
                fail_run(connection, run.id, why_not(stopped[run.query]))
        able = {each.id: each for each in queries if each.id not in stopped}
        refreshes = [run for run in runs if run.kind == "refresh"]
        due = [each for query in able.values() if (each := self._due(connection, query, refreshes))]
        for group in groups(due):
            self._answer(connection, group)
        self._verifications.look(connection, able, [run for run in runs if run.kind == "verify"])
        self._awaited = [run.target for run in refreshes if run.query in able]
        if due or runs or self._stop.is_set():
            return False
        if self._scheduling.step(connection, able):
            self._ahead.renew()
            return True
        if self._ahead.step(connection, able):
            return True
        self._merging.step(connection)
        return False

    def _due(self, connection: Connection, query: Running, refreshes: Sequence[Run]) -> Due | None:
        """With the statements that its answer will do for; None if no answer is owed."""
        position = self._position()
        met = tuple(run for run in refreshes if run.query == query.id and run.target <= position)
        told = bool(met) and query.status == "error"
        if not query.captured or not (told or self._patience[query.id].is_over()):
            return None
        if query.status == "error" and not met:
            owed = self._failed_at.get(query.id) != position
        else:
            owed = bool(met) or is_first(query) or self._is_emptied(query) or self._fires(connection, query)
        return Due(query, met) if owed else None

    def _fires(self, connection: Connection, query: Running) -> bool:
        def waiting() -> int:
            return self._standing(connection, query).rows_waiting(connection, query)

        return is_triggered(query, datetime.now(UTC), waiting)

    def _is_emptied(self, query: Running) -> bool:
        """Whether a crash may have emptied the answer since it was last looked at."""
        return query.unlogged and query.id not in self._whole

    def _answer(self, connection: Connection, group: Sequence[Due]) -> None:
        """Compute the answers of a group and publish them in one transaction; who fails stays out."""
        moment, clock, position = datetime.now(UTC), Clock(), self._position()
        computed: list[_Computed] = []
        for due in group:
            try:
                computed.append(self._compute(connection, due, position))
            except Cancelled:
                log.info("standing query %s: not wanted any more", due.query)
            except (Error, psycopg.Error) as error:
                self._fail(connection, due, error)
        if computed:
            failpoint("publish: fired")
            self._publish(connection, computed, moment, clock)

    def _compute(self, connection: Connection, due: Due, position: int) -> _Computed:
        query = due.query
        standing = self._standing(connection, query)
        emptied, wanted = self._is_emptied(query), self._wanted(connection, query)
        try:
            ready = standing.fire(connection, query, position, emptied, wanted)
        except EngineLost as error:
            # It need not be this query's doing, and who stays out is not where the others of its group are.
            log.info("standing query %s: %s", query, failure_of(error))
            ready = standing.fire(connection, query, position, emptied, wanted)
        return _Computed(due, standing, ready)

    def _publish(
        self, connection: Connection, computed: Sequence[_Computed], moment: datetime, clock: Clock
    ) -> None:
        """Whoever cannot be published is left out; a commit whose outcome is unknown leaves all files."""
        published: list[_Computed] = []
        failed: list[tuple[_Computed, Error | psycopg.Error | None]] = []
        with connection.transaction():
            hold_epoch(connection, self._place.epoch)
            for each in computed:
                try:
                    with connection.transaction():
                        if self._publish_one(connection, each, moment, clock):
                            published.append(each)
                        else:
                            failed.append((each, None))
                except (Error, psycopg.Error) as error:
                    if connection.closed:
                        raise
                    failed.append((each, error))
            failpoint("publish: before commit")
        failpoint("publish: committed")
        for each in published:
            self._settle(each)
        for each, why in failed:
            each.standing.discard(each.ready)
            self._set_aside(each.due.query)
            if why is not None:
                self._fail(connection, each.due, why)

    def _publish_one(
        self, connection: Connection, computed: _Computed, moment: datetime, clock: Clock
    ) -> bool:
        due = computed.due
        if not computed.standing.publish(connection, due.query, computed.ready, moment, clock):
            return False
        for run in due.refreshes:
            finish_run(connection, run.id, computed.ready.position)
        return True

    def _settle(self, computed: _Computed) -> None:
        query = computed.due.query.id
        computed.standing.settle(computed.ready)
        self._whole.add(query)
        self._patience.pop(query, None)
        self._failed_at.pop(query, None)

    def _set_aside(self, query: Running) -> None:
        self._patience[query.id] = self._patience[query.id].longer()

    def _fail(self, connection: Connection, due: Due, error: Error | psycopg.Error) -> None:
        """Say what is wrong, to whoever waits as well; what may pass by itself is tried again in silence."""
        if isinstance(error, Fenced) or connection.closed:
            raise error
        query, failure = due.query, failure_of(error)
        log.info("standing query %s: %s", query, failure)
        self._failed_at[query.id] = self._position()
        self._set_aside(query)
        if is_passing(failure):
            return
        with connection.transaction():
            hold_epoch(connection, self._place.epoch)
            fail_query(connection, query, status_after(failure), failure)
            for run in due.refreshes:
                fail_run(connection, run.id, failure)

    def _standing(self, connection: Connection, query: Running) -> StandingQuery:
        known = self._known.get(query.id)
        if known is None or not known.is_planned_for(connection, query):
            known = StandingQuery.plan(connection, self._place, self._engine, query, self._types())
            self._known[query.id] = known
        return known

    def _types(self) -> Signatures:
        if self._signatures is None:
            self._signatures = asyncio.run(_read_signatures(self._place.address))
        return self._signatures

    def _wanted(self, connection: Connection, query: Running) -> Callable[[], bool]:
        return lambda: not self._stop.is_set() and is_wanted(connection, query)

    def _forget_others(self, connection: Connection, queries: Sequence[Running]) -> None:
        """Nothing is kept of queries that are gone, nor of a past that is long ago."""
        gone = self._known.keys() - {each.id for each in queries}
        for each in gone:
            del self._known[each]
        late = time.monotonic() - self._kept_house > _HOUSEKEEPING_SECONDS
        if gone or late:
            self._collect_garbage(connection)
        if late:
            forget_history(connection)
            self._kept_house = time.monotonic()

    def _collect_garbage(self, connection: Connection) -> None:
        with connection.transaction():
            hold_epoch(connection, self._place.epoch)
            files = forget_node_batches(connection)
        self._place.warehouse.remove(files)


async def _read_signatures(address: str) -> Signatures:
    async with await AsyncConnection.connect(address) as connection:
        return await read_signatures(connection)
