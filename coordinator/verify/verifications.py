"""VERIFY statements that wait: each at a position of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.queries.awaited import note_run
from catalog.queries.running import Run, Running
from catalog.queries.telling import fail_run
from coordinator.decide.failure_policy import why_not
from coordinator.firing.engine import Cancelled
from coordinator.results.failing import ends_all, failure_of, log_failure
from coordinator.results.known_queries import KnownQueries
from coordinator.results.positions_in_use import PositionsInUse
from coordinator.results.query import StandingQuery
from coordinator.verify.snapshot import SnapshotHolder
from coordinator.verify.verification import Verification
from sources.server.senders import free_senders

log = logging.getLogger(__name__)

_QUEUED: Final = (
    "waiting for other VERIFY statements: max_wal_senders and max_replication_slots of the server "
    "allow no more at once"
)


@dataclass(frozen=True, slots=True)
class _Comparing:
    """What is compared now, of which query, and what comes of it."""

    verification: Verification
    standing: StandingQuery
    outcome: Future[None]


class Verifications:
    """Goes on with VERIFY statements, beside everything else: no result waits for one.

    Threads take positions, one for each statement; another one compares, one result after another.
    """

    def __init__(
        self,
        address: str,
        captured: Callable[[], int],
        known: KnownQueries,
        positions: PositionsInUse,
    ) -> None:
        self._address = address
        self._captured = captured
        self._known = known
        self._positions = positions
        self._thread = ThreadPoolExecutor(1, "verification")
        self._comparing: _Comparing | None = None
        self._snapshot_holders: dict[UUID, SnapshotHolder] = {}
        self._queued: set[UUID] = set()

    def look(self, connection: Connection, queries: Mapping[UUID, Running], runs: Sequence[Run]) -> None:
        """Begin those that are new, end those whose position is captured, forget those that are gone.

        No more are begun at once than the server can serve: the others are told so.
        """
        ended = self._look_at_comparing(connection)
        runs = [run for run in runs if run.id != ended]
        wanted = {run.id for run in runs}
        self._queued &= wanted
        for gone in self._snapshot_holders.keys() - wanted:
            self._snapshot_holders.pop(gone).release()
        for run in runs:
            query = queries.get(run.query)
            has_result = query is not None and query.has_result and not query.columns_due
            if query is not None and query.status == "error" and not has_result:
                fail_run(connection, run.id, why_not(query))
            if query is None or query.status == "initialising" or not has_result or not query.captured:
                self._forget(run.id)
                continue
            if run.id not in self._snapshot_holders:
                if len(self._snapshot_holders) >= self._most(connection):
                    self._queue(connection, run)
                    continue
                self._begin(connection, query, run)
            if not self._is_compared(run):
                self._continue(connection, query, run, self._snapshot_holders[run.id])

    def _is_compared(self, run: Run) -> bool:
        return self._comparing is not None and self._comparing.verification.run.id == run.id

    def _most(self, connection: Connection) -> int:
        """How many may be under way: what the server has left, but one for tables that are copied."""
        names = [SnapshotHolder.session_name(run) for run in self._snapshot_holders]
        return max(free_senders(connection, names) - 1, 1)

    def _queue(self, connection: Connection, run: Run) -> None:
        if run.id not in self._queued:
            self._queued.add(run.id)
            note_run(connection, run.id, _QUEUED)

    def _begin(self, connection: Connection, query: Running, run: Run) -> None:
        self._snapshot_holders[run.id] = SnapshotHolder(self._address, query, run)
        if run.id in self._queued:
            self._queued.remove(run.id)
            note_run(connection, run.id, None)

    def _forget(self, run: UUID) -> None:
        """Let the snapshot of a verification go that is of no use any more."""
        if run in self._snapshot_holders:
            self._snapshot_holders.pop(run).release()

    def awaited(self) -> list[int]:
        """The positions up to which verifications wait for capture."""
        return [
            snapshot_holder.target
            for snapshot_holder in self._snapshot_holders.values()
            if snapshot_holder.target is not None
        ]

    def release(self) -> None:
        """End all verifications that are under way."""
        for snapshot_holder in self._snapshot_holders.values():
            snapshot_holder.release()
        self._snapshot_holders.clear()
        if self._comparing is not None:
            self._comparing.verification.snapshot_holder.release()
        self._thread.shutdown()

    def _continue(
        self, connection: Connection, query: Running, run: Run, snapshot_holder: SnapshotHolder
    ) -> None:
        """Begin to compare, as soon as the position is captured and nothing else is being compared."""
        try:
            if snapshot_holder.error is not None:
                raise snapshot_holder.error
            if snapshot_holder.choice is None and not snapshot_holder.is_wanted():
                raise Cancelled
            captured, target = self._captured(), snapshot_holder.target
            if snapshot_holder.choice is None or target is None or captured < target:
                return
            if self._comparing is not None:
                return
            standing = self._known.get(connection, query)
            at = captured if snapshot_holder.position is None else target
            if standing.has_read_behind(at):
                self._forget(run.id)
                return
            verification = Verification.begin(
                address=self._address,
                query=query,
                run=run,
                standing=standing,
                snapshot_holder=snapshot_holder,
                at=at,
                positions=self._positions,
            )
            kept = partial(self._known.until_changed, query=query)
            outcome = self._thread.submit(verification.carry_out, snapshot_holder.choice, kept)
            self._comparing = _Comparing(verification, standing, outcome)
        except Exception as error:
            if ends_all(error, connection):
                raise
            self._end(connection, query, run.id, snapshot_holder, error)

    def _look_at_comparing(self, connection: Connection) -> UUID | None:
        """End what has been compared; which run that was."""
        comparing = self._comparing
        if comparing is None or not comparing.outcome.done():
            return None
        self._comparing = None
        verification = comparing.verification
        if verification.standing.is_outgrown:
            comparing.standing.is_outgrown = True
        error = comparing.outcome.exception()
        if error is not None and (not isinstance(error, Exception) or ends_all(error, connection)):
            raise error
        run, snapshot_holder = verification.run.id, verification.snapshot_holder
        self._end(connection, verification.query, run, snapshot_holder, error)
        return run

    def _end(
        self,
        connection: Connection,
        query: Running,
        run: UUID,
        snapshot_holder: SnapshotHolder,
        error: Exception | None,
    ) -> None:
        """Tell how it failed, if it did and somebody still waits, and let everything go."""
        if isinstance(error, Cancelled):
            log.info("standing query %s: its verification is not wanted any more", query)
        elif error is not None and (snapshot_holder.is_wanted() or snapshot_holder.error is not None):
            log_failure(log, query, error, "verification")
            fail_run(connection, run, failure_of(error))
        snapshot_holder.release()
        if self._snapshot_holders.get(run) is snapshot_holder:
            del self._snapshot_holders[run]
