"""Answers the standing queries of one database: one thread, one decision after the other."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Final
from uuid import UUID

from psycopg import AsyncConnection, Connection

from catalog.consequences import Consequence, consequence_of
from catalog.errors import EngineLost
from catalog.executions import expected_seconds, forget_progress
from catalog.failpoints import failpoint
from catalog.paces import periods
from catalog.running import (
    Run,
    Running,
    fail_query,
    forget_history,
    forget_node_batches,
    is_wanted,
    last_changes,
    note_due,
    require_copied_before,
    running_queries,
    waiting_runs,
)
from catalog.signatures import Signatures
from catalog.signatures_postgres import read_signatures
from catalog.store import hold_epoch
from catalog.telling import fail_run, tell_all, tell_refreshes
from coordinator.ahead import Ahead
from coordinator.due import Due, Situation, counts_rows, due_moment, groups, is_first
from coordinator.engine import Cancelled, EngineThread
from coordinator.failing import (
    ends_all,
    failure_of,
    is_blocked,
    log_failure,
    needs_resume,
    status_after,
    why_not,
)
from coordinator.fired import Clock
from coordinator.losing import loss_behind
from coordinator.merging import Merging
from coordinator.publication import Computed, Publication, Waiting, publish
from coordinator.publishing import require_unlocked
from coordinator.query import StandingQuery
from coordinator.resting import Resting
from coordinator.scheduling import Scheduling
from coordinator.turns import Request, Turns
from coordinator.verifications import Verifications
from sources.server.session import connect
from sources.warehouse.site import Place

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.5
_ARRIVAL_SECONDS: Final = 0.02
_HOUSEKEEPING_SECONDS: Final = 3600.0


class Answers:
    """Answers inside its context, in a thread; what ends it before is raised by `check`."""

    def __init__(self, place: Place, position: Callable[[], int], engine: EngineThread) -> None:
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
        """Whether results are still being computed: it has not ended."""
        return not self._outcome.done()

    def check(self) -> None:
        """Raise what ended it, if anything did."""
        if self._outcome.done():
            self._outcome.result()


class Answering:
    """The queries of a database, from the first firing of each to its last."""

    def __init__(
        self, place: Place, position: Callable[[], int], engine: EngineThread, stop: threading.Event
    ) -> None:
        self._place = place
        self._position = position
        self._engine = engine
        self._stop = stop
        self._known: dict[UUID, StandingQuery] = {}
        self._whole: set[UUID] = set()
        self._resting = Resting()
        self._waiting: dict[UUID, Waiting] = {}
        self._publications: list[Publication] = []
        self._turns = Turns()
        self._signatures: Signatures | None = None
        self._awaited: list[int] = []
        self._looked_at = 0
        self._kept_house = float("-inf")
        self._merging = Merging(place, position)
        self._scheduling = Scheduling(place, self._standing)
        self._ahead = Ahead(position, self._standing, self._wanted)
        self._verifications = Verifications(place.address, position, self._standing, self._wanted)

    def run(self) -> None:
        """Compute results until told to stop; what fails is reported where users look, and tried again."""
        with connect(self._place.address, "gavial answers") as connection:
            connection.execute("LISTEN gavial")
            forget_progress(connection)
            try:
                while not self._stop.is_set():
                    if not self._look(connection):
                        self._wait(connection)
                self._collect_garbage(connection)
            finally:
                self._verifications.release()
                for publication in self._publications:
                    publication.discard()

    def discard(self, files: Iterable[str]) -> None:
        """Delete files of the warehouse as soon as nobody reads them; any thread may ask for it."""
        self._merging.discard(files)

    def _wait(self, connection: Connection) -> None:
        """Wait until something was changed, or what somebody waits for has been captured."""
        end = time.monotonic() + _POLL_SECONDS
        awaited = [*self._awaited, *self._verifications.awaited()]
        before = self._looked_at
        while not self._stop.is_set() and (left := end - time.monotonic()) > 0:
            position = self._position()
            if any(before < target <= position for target in awaited):
                return
            seconds = min(left, _ARRIVAL_SECONDS) if awaited else left
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                return

    def _look(self, connection: Connection) -> bool:
        """Compute the result whose turn it is; where none is due, a part of what can be done ahead.

        False if nobody knows of more.
        """
        self._looked_at = self._position()
        queries = running_queries(connection)
        runs = waiting_runs(connection)
        self._forget_others(connection, queries)
        blocked = {query.id: query for query in queries if is_blocked(query)}
        for run in runs:
            if (query := blocked.get(run.query)) is not None and (needs_resume(query) or run.tried):
                with self._contained(connection, query):
                    fail_run(connection, run.id, why_not(query))
        able = {query.id: query for query in queries if query.id not in blocked}
        refreshes = [run for run in runs if run.kind == "refresh" and run.query in able]
        computed = self._compute_next(connection, able, refreshes)
        self._verifications.look(connection, able, [run for run in runs if run.kind == "verify"])
        self._awaited = [run.target for run in refreshes]
        if computed:
            return True
        if runs or self._stop.is_set():
            return False
        if self._scheduling.step(connection, able):
            self._ahead.renew()
            return True
        if self._ahead.step(connection, able):
            return True
        self._merging.step(connection)
        return False

    def _compute_next(
        self, connection: Connection, able: Mapping[UUID, Running], refreshes: Sequence[Run]
    ) -> bool:
        """One result, and publish its group if that was the last of it; False if none is due."""
        for publication in tuple(self._publications):
            publication.go_on_with(able)
            self._go_on(connection, publication)
        due = self._due_groups(connection, able, refreshes)
        asked = {run.query for run in refreshes}
        requests: dict[Request, Publication] = {}
        for publication in (*self._publications, *due):
            is_awaited = any(id in asked or is_first(member.query) for id, member in publication.left.items())
            for member in publication.left.values():
                requests[self._request(member, is_awaited)] = publication
        if not requests:
            return False
        request, self._turns = self._turns.next(list(requests))
        publication = requests[request]
        if publication in due:
            self._publications.append(publication)
        self._compute(connection, publication, request)
        self._go_on(connection, publication)
        return True

    def _due_groups(
        self, connection: Connection, able: Mapping[UUID, Running], refreshes: Sequence[Run]
    ) -> list[Publication]:
        """The groups that are due, none of whose queries is in a publication that has begun."""
        begun = {id for publication in self._publications for id in publication.members}
        free = [query for id, query in able.items() if id not in begun]
        situation = self._situation(connection, free, refreshes)
        self._note_due(connection, free, situation)
        due = groups(free, refreshes, situation)
        self._note_waiting(connection, {member.query.id for group in due for member in group}, begun)
        return [Publication.of(group, situation.position) for group in due]

    def _situation(
        self, connection: Connection, queries: Sequence[Running], refreshes: Sequence[Run]
    ) -> Situation:
        position = self._position()
        asked = {run.query for run in refreshes if run.target <= position}
        counting = [query.id for query in queries if counts_rows(query)]
        came = periods(connection, counting) if counting else {}
        return Situation(
            datetime.now(UTC),
            position,
            {id: sum(period.came.values()) for id, period in came.items()},
            self._resting.now(asked),
            self._resting.seen_at,
            last_changes(connection, self._resting.seen_at),
            {query.id for query in queries if self._is_emptied(query)},
        )

    def _note_due(self, connection: Connection, queries: Sequence[Running], situation: Situation) -> None:
        """Record since when queries are due, for those who ask how late a result is."""
        moments = {query.id: due_moment(query, situation) if query.answered else None for query in queries}
        if changed := {query.id: moments[query.id] for query in queries if moments[query.id] != query.due}:
            note_due(connection, changed)

    def _note_waiting(self, connection: Connection, due: Collection[UUID], begun: Collection[UUID]) -> None:
        """Write down since when queries are due, and how much work they are expected to be."""
        self._waiting = {id: waiting for id, waiting in self._waiting.items() if id in due or id in begun}
        if new := [id for id in due if id not in self._waiting]:
            moment, sizes = datetime.now(UTC), expected_seconds(connection, new)
            self._waiting |= {id: Waiting(moment, Clock(), sizes.get(id, 0.0)) for id in new}

    def _request(self, due: Due, is_awaited: bool) -> Request:
        """A statement's queries share its time; so do those of a group that nobody asked for."""
        query = due.query
        group = query.options.get("PUBLISH_GROUP", query.id)
        statement = due.refreshes[0].statement if due.refreshes else group
        return Request(query.id, query.owner, statement, self._waiting[query.id].seconds, is_awaited)

    def _is_emptied(self, query: Running) -> bool:
        """Whether a crash may have emptied the answer since it was last looked at."""
        return query.unlogged and query.id not in self._whole

    def _compute(self, connection: Connection, publication: Publication, request: Request) -> None:
        """Add a result to its group; who fails stays out."""
        due, position = publication.left[request.query], publication.position
        query = due.query
        try:
            if request.awaited:
                tell_refreshes(connection, publication.members, publication.progress(query))
            standing = self._standing(connection, query)
            emptied = self._is_emptied(query)
            wanted = publication.wanted(connection, self._wanted(connection, query))
            require_copied_before(connection, query.id, position)
            require_unlocked(connection, standing.prepared.answer.relation)
            try:
                ready = standing.fire(connection, query, position, emptied, wanted)
            except EngineLost as error:
                # It need not be this query's doing, and who stays out is not where the others are.
                log.info("standing query %s: %s", query, failure_of(error))
                ready = standing.fire(connection, query, position, emptied, wanted)
            publication.computed.append(Computed(due, self._waiting[query.id], standing, ready))
        except Cancelled:
            log.info("standing query %s: not wanted any more", query)
        except Exception as error:
            if ends_all(error, connection):
                raise
            lost = loss_behind(connection, self._place, error, query.id, position)
            if lost is not None:
                self._known.clear()  # where they have read up to is not what it was
            self._fail(connection, due, position, lost or error)
        finally:
            del publication.left[query.id]

    def _go_on(self, connection: Connection, publication: Publication) -> None:
        """Publish what is complete; give up what nobody waits for any more."""
        if publication.left:
            if not publication.is_wanted(connection):
                self._publications.remove(publication)
                publication.discard(connection)
            return
        self._publications.remove(publication)
        # A plan that was made since may have begun to compute anew.
        known = self._known
        current = [
            result for result in publication.computed if known.get(result.due.query.id) is result.standing
        ]
        if not current:
            publication.discard(connection)
            return
        failpoint("publish: fired")
        published = publish(connection, self._place.epoch, current)
        for result in published.done:
            self._settle(result)
        outdated = [(result, None) for result in publication.computed if result not in current]
        for result, why in (*published.failed, *outdated):
            result.standing.discard(result.ready, connection)
            self._resting.set_aside(result.due.query.id)
            if why is not None:
                self._fail(connection, result.due, publication.position, why)

    def _settle(self, computed: Computed) -> None:
        query = computed.due.query.id
        computed.standing.settle(computed.ready)
        self._whole.add(query)
        self._waiting.pop(query, None)
        self._resting.forget(query)

    def _fail(self, connection: Connection, due: Due, position: int, error: Exception) -> None:
        """Say what is wrong, to whoever waits as well; what may pass by itself is tried again in silence.

        `position`: of the data in which it failed. Newer ones, which may have come meanwhile, may mend it.
        """
        query, failure = due.query, failure_of(error)
        log_failure(log, query, error)
        self._resting.set_aside(query.id, failure, position)
        if consequence_of(failure.sqlstate) is Consequence.RETRY:
            with self._contained(connection, query):
                tell_all(connection, query.id, f"trying again, because it failed: {failure.message}")
            return
        with self._contained(connection, query), connection.transaction():
            hold_epoch(connection, self._place.epoch)
            # Of a query that somebody changes meanwhile nothing is said: it is tried again as it is then.
            if fail_query(connection, query, status_after(failure), failure):
                for run in due.refreshes:
                    fail_run(connection, run.id, failure)

    @contextmanager
    def _contained(self, connection: Connection, query: Running) -> Iterator[None]:
        """Keep an error of one query from the others; what could not be recorded of it is tried again."""
        try:
            yield
        except Exception as error:
            if ends_all(error, connection):
                raise
            log_failure(log, query, error, "state")
            self._resting.set_aside(query.id)

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
        """Drop what is kept of queries that are gone, and now and then what is old."""
        gone = self._known.keys() - {query.id for query in queries}
        for id in gone:
            del self._known[id]
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
