"""Carries out what is decided for the standing queries of one database."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, assert_never
from uuid import UUID

from psycopg import Connection

from catalog.capture.store import held_epoch
from catalog.errors import EngineLost
from catalog.failpoints import failpoint
from catalog.queries.awaited import is_awaited
from catalog.queries.computed import forget_node_batches
from catalog.queries.executions import expected_seconds
from catalog.queries.paces import Period, paced_queries, periods
from catalog.queries.running import (
    fail_query,
    forget_history,
    note_due,
    require_copied_before,
)
from catalog.queries.telling import fail_run, tell_refreshes, tell_retry
from coordinator.decide.actions import (
    CheckDrift,
    ChoosePaces,
    Compute,
    Computed,
    Discard,
    Failed,
    FailRun,
    Forget,
    LookAtVerifications,
    Note,
    NoteDue,
    NotWanted,
    Outcome,
    PacedPeriod,
    Publish,
    Published,
    ReadPaths,
    ReadPeriods,
    ReadSizes,
    RecordFailure,
    RunEarly,
    TellRetry,
    Wait,
)
from coordinator.firing.engine import Cancelled, EngineThread
from coordinator.publish.locks import require_unlocked
from coordinator.results.arrangements import ListedArrangements
from coordinator.results.computation import compute
from coordinator.results.discarded_files import DiscardedFiles
from coordinator.results.early_run import run_early
from coordinator.results.failing import contained, ends_all, failure_of, log_failure
from coordinator.results.known_queries import KnownQueries
from coordinator.results.lost_files import loss_behind
from coordinator.results.pace_choice import PaceChoice
from coordinator.results.positions_in_use import PositionsInUse
from coordinator.results.publication import Result, publish
from coordinator.results.state_keeping import StateKeeping
from coordinator.verify.verifications import Verifications
from sources.warehouse.site import CaptureSite

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.5
_ARRIVAL_SECONDS: Final = 0.005
_TELL_SECONDS: Final = 0.5


class DatabaseShell:
    """Acts by one connection to the database, in one thread."""

    def __init__(
        self,
        connection: Connection,
        site: CaptureSite,
        position: Callable[[], int],
        engine: EngineThread,
        positions: PositionsInUse,
        discarded: DiscardedFiles,
        stop: threading.Event,
    ) -> None:
        self._connection = connection
        self._site = site
        self._position = position
        self._stop = stop
        self._queries = KnownQueries(site, engine, stop)
        self._states = StateKeeping(site, engine)
        self._paces = PaceChoice(site, self._queries, self._states)
        self._verifications = Verifications(site.address, position, self._queries, positions)
        self._discarded = discarded
        self._arrangements = ListedArrangements(site, engine)
        self._results: dict[UUID, Result] = {}
        self._told: Compute | None = None
        self._told_at = float("-inf")

    def release(self) -> None:
        """Let go of what is under way: it is certain not to be published."""
        self._verifications.release()
        for result in self._results.values():
            result.standing.discard(result.computed)
        self._results.clear()

    def seconds(self) -> float:
        """The time, by a clock that nobody sets."""
        return time.monotonic()

    def read_sizes(self, action: ReadSizes) -> Mapping[UUID, float]:
        """How many seconds of work each of these results is expected to be."""
        return expected_seconds(self._connection, action.queries)

    def compute(self, action: Compute) -> Outcome:
        """Compute a result, and keep it until it is published or discarded."""
        connection, query, position = self._connection, action.due.query, action.publication.position
        try:
            self._tell_turn(action)
            standing = self._queries.get(connection, query)
            is_kept = self._queries.until_changed(connection, query)
            require_copied_before(connection, query.id, position)
            require_unlocked(connection, standing.prepared.result_table.relation)
            self._states.before_run(connection, standing, query)
            computed = compute(
                standing,
                connection,
                query,
                position,
                action.emptied,
                lambda: is_kept() and self._is_wanted(action),
            )
        except Cancelled:
            log.info("standing query %s: not wanted any more", query)
            return NotWanted()
        except Exception as error:
            if ends_all(error, connection):
                raise
            loss = loss_behind(connection, self._site, error, query.id, position)
            if loss is not None:
                self._queries.clear()
            log_failure(log, query, loss or error)
            return Failed(failure_of(loss or error), isinstance(error, EngineLost) and loss is None)
        self._results[query.id] = Result(query, standing, computed)
        return Computed()

    def publish(self, action: Publish) -> Published:
        """Publish results in one transaction; who cannot be published is left out."""
        connection, waiting = self._connection, action.waiting
        results = [self._results.pop(id) for id in action.publication.computed]
        current = [result for result in results if self._queries.is_current(result.standing)]
        errors: dict[UUID, Exception | None] = {
            result.query.id: None for result in results if result not in current
        }
        if current:
            failpoint("publish: fired")
            refused, garbage = publish(connection, self._site.epoch, current, waiting)
            errors |= refused
            self._discarded.add(garbage)
        for result in results:
            if result.query.id not in errors:
                result.standing.settle(result.computed)
                continue
            result.standing.discard(result.computed, connection)
            if (error := errors[result.query.id]) is not None:
                log_failure(log, result.query, error)
        return Published(
            frozenset(result.query.id for result in results if result.query.id not in errors),
            {id: None if error is None else failure_of(error) for id, error in errors.items()},
        )

    def discard(self, action: Discard) -> None:
        """Discard results that were computed."""
        for id in action.publication.computed:
            result = self._results.pop(id)
            result.standing.discard(result.computed, self._connection)

    def note(self, note: Note) -> bool:
        """Record something; False if that failed by a fault of the query's own."""
        match note:
            case FailRun(query=query) | TellRetry(query=query) | RecordFailure(query=query):
                with contained(log, self._connection, query, "state"):
                    self._tell(note)
                    return True
                return False
            case NoteDue(moments=moments):
                note_due(self._connection, moments)
            case LookAtVerifications(queries=queries, runs=runs):
                self._verifications.look(self._connection, queries, runs)
            case Forget(queries=gone, history=history):
                self._queries.forget(gone)
                self._paces.forget(gone)
                self._states.forget(gone)
                self.collect_garbage()
                if history:
                    forget_history(self._connection)
            case _:
                assert_never(note)
        return True

    def read_periods(self, action: ReadPeriods) -> Mapping[UUID, Period]:
        """The periods of queries as they stand."""
        return periods(self._connection, action.queries)

    def check_drift(self, action: CheckDrift) -> bool:
        """Whether a period has drifted."""
        return self._paces.has_drifted(self._connection, action.query, action.period)

    def choose_paces(self, action: ChoosePaces) -> None:
        """Choose the paces of a period; what fails leaves them as they are."""
        self._paces.choose(self._connection, action.query, action.is_same_period)

    def read_paths(self, action: ReadPaths) -> Mapping[UUID, PacedPeriod]:
        """The paths of those among the queries that have early runs."""
        paced = paced_queries(self._connection)
        queries = {query.id: query for query in action.queries if query.id in paced}
        read = {}
        for id, period in periods(self._connection, queries).items():
            with contained(log, self._connection, queries[id], "early run"):
                standing = self._queries.get(self._connection, queries[id])
                read[id] = PacedPeriod(standing.paced(self._connection), period)
        return read

    def run_early(self, action: RunEarly) -> Outcome:
        """Run paths, and commit what they computed."""
        connection, query = self._connection, action.query
        try:
            standing = self._queries.get(connection, query)
            is_wanted = self._queries.until_changed(connection, query)
            self._states.before_run(connection, standing, query)
            garbage = run_early(
                standing=standing,
                connection=connection,
                query=query,
                position=action.position,
                due=action.rows,
                consolidate=action.consolidate,
                wanted=is_wanted,
            )
        except Cancelled:
            return NotWanted()
        except Exception as error:
            if ends_all(error, connection):
                raise
            log_failure(log, query, error, "early run")
            return Failed(failure_of(error))
        if garbage is None:
            return NotWanted()
        self._discarded.add(garbage)
        return Computed()

    def wait(self, action: Wait) -> None:
        """Wait until something was changed, or what somebody waits for has been captured."""
        self._discarded.remove()
        self._arrangements.list(self._connection)
        end = time.monotonic() + _POLL_SECONDS
        awaited = [*action.targets, *self._verifications.awaited()]
        while not self._stop.is_set() and (left := end - time.monotonic()) > 0:
            position = self._position()
            if any(action.position < target <= position for target in awaited):
                return
            seconds = min(left, _ARRIVAL_SECONDS) if awaited else left
            for _ in self._connection.notifies(timeout=seconds, stop_after=1):
                return

    def collect_garbage(self) -> None:
        """Remove what was computed for queries that are gone, and is in the way of nobody."""
        with held_epoch(self._connection, self._site.epoch):
            files = forget_node_batches(self._connection)
        self._site.warehouse.remove(files)

    def _tell_turn(self, action: Compute) -> None:
        """Tell who waits for a publication which of its results is computed: not every one of many."""
        seconds, publication = self.seconds(), action.publication
        is_told = self._told is action or not action.is_awaited
        if not is_told and (not publication.computed or seconds - self._told_at > _TELL_SECONDS):
            tell_refreshes(self._connection, publication.members, _turn_text(action))
            self._told, self._told_at = action, seconds

    def _is_wanted(self, action: Compute) -> bool:
        """Whether a statement still waits for a result, or it would be due without one."""
        self._tell_turn(action)  # also one that is found to take long
        publication = action.publication
        return publication.unasked or is_awaited(self._connection, publication.runs)

    def _tell(self, note: FailRun | TellRetry | RecordFailure) -> None:
        connection = self._connection
        match note:
            case FailRun(run=run, failure=failure):
                fail_run(connection, run, failure)
            case TellRetry(query=query, failure=failure):
                tell_retry(connection, query.id, failure.message)
            case RecordFailure(query=query, status=status, failure=failure, refreshes=refreshes):
                with held_epoch(connection, self._site.epoch):
                    # Of a query that somebody changes meanwhile nothing is said: it is tried as it is then.
                    if fail_query(connection, query, status, failure):
                        for refresh in refreshes:
                            fail_run(connection, refresh.id, failure)
            case _:
                assert_never(note)


def _turn_text(action: Compute) -> str | None:
    """What is told to those who wait for several results while one is computed."""
    count, place = len(action.publication.members), len(action.publication.computed) + 1
    if count == 1:
        return None
    return f"computing {action.due.query}, {place} of {count} that are published together"
