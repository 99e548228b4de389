"""VERIFY statements that wait: each at a position of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.queries.awaited import note_run
from catalog.queries.running import Run, Running, save_differences
from catalog.queries.telling import fail_run, finish_verification
from coordinator.decide.failure_policy import why_not
from coordinator.firing.engine import Cancelled
from coordinator.firing.progress import Wanted
from coordinator.results.computation import compute, compute_all
from coordinator.results.computed_changes import ComputedChanges
from coordinator.results.failing import ends_all, failure_of, log_failure
from coordinator.results.known_queries import KnownQueries
from coordinator.results.query import StandingQuery
from coordinator.verify.choice import Choice, ComparedWith
from coordinator.verify.snapshot import SnapshotHolder
from coordinator.verify.verify import Difference, differing_from_postgres, differing_from_scratch
from sources.server.position import format_lsn
from sources.server.senders import free_senders

log = logging.getLogger(__name__)

_QUEUED: Final = (
    "waiting for other VERIFY statements: max_wal_senders and max_replication_slots of the server "
    "allow no more at once"
)


class Verifications:
    """Goes on with VERIFY statements. A thread takes positions, so that waiting for one delays no result."""

    def __init__(self, address: str, captured: Callable[[], int], known: KnownQueries) -> None:
        self._address = address
        self._captured = captured
        self._known = known
        self._snapshot_holders: dict[UUID, SnapshotHolder] = {}
        self._queued: set[UUID] = set()

    def look(self, connection: Connection, queries: Mapping[UUID, Running], runs: Sequence[Run]) -> None:
        """Begin those that are new, end those whose position is captured, forget those that are gone.

        No more are begun at once than the server can serve: the others are told so.
        """
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
            self._continue(connection, query, run, self._snapshot_holders[run.id])

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

    def _continue(
        self, connection: Connection, query: Running, run: Run, snapshot_holder: SnapshotHolder
    ) -> None:
        try:
            if snapshot_holder.error is not None:
                raise snapshot_holder.error
            if snapshot_holder.choice is None and not snapshot_holder.is_wanted():
                raise Cancelled
            captured, target = self._captured(), snapshot_holder.target
            if snapshot_holder.choice is None or target is None or captured < target:
                return
            standing = self._known.get(connection, query)
            at = captured if snapshot_holder.position is None else target
            if standing.has_read_behind(at):
                self._forget(run.id)
                return
            verification = _Verification(connection, query, run, standing, snapshot_holder, at)
            verification.carry_out(snapshot_holder.choice, self._known.until_changed(connection, query))
        except Cancelled:
            log.info("standing query %s: its verification is not wanted any more", query)
        except Exception as error:
            if ends_all(error, connection):
                raise
            if snapshot_holder.is_wanted() or snapshot_holder.error is not None:
                log_failure(log, query, error, "verification")
                fail_run(connection, run.id, failure_of(error))
        snapshot_holder.release()
        del self._snapshot_holders[run.id]


@dataclass(frozen=True, slots=True)
class _Verification:
    """A comparison of one result, at one position."""

    connection: Connection
    query: Running
    run: Run
    standing: StandingQuery
    snapshot_holder: SnapshotHolder
    at: int

    def carry_out(self, choice: Choice, is_kept: Wanted) -> None:
        """Compare, and tell the client what came of it; nothing that was computed for it is left."""

        def is_wanted() -> bool:
            return self.snapshot_holder.is_wanted() and is_kept()

        kept: list[ComputedChanges] = []
        try:
            kept.append(compute(self.standing, self.connection, self.query, self.at, False, is_wanted))
            if choice.compared_with is ComparedWith.SPARK:
                kept.append(compute_all(self.standing, self.connection, self.at, is_wanted))
            differences = self._differences(*kept)
        finally:
            for computed in kept:
                self.standing.discard(computed, self.connection)
        compared_with = choice.compared_with.value
        with self.connection.transaction():
            save_differences(self.connection, self.run.id, differences)
            finish_verification(self.connection, self.run.id, self.at, compared_with, choice.why)

    def _differences(
        self, computed: ComputedChanges, expected: ComputedChanges | None = None
    ) -> list[Difference]:
        at, table = format_lsn(self.at), self.standing.prepared.result_table
        if expected is not None:
            self._note(f"comparing with what was computed from scratch at {at}")
            return differing_from_scratch(self.snapshot_holder, table, computed, expected)
        position = self.snapshot_holder.position
        assert position is not None
        self._note(f"comparing with PostgreSQL's own result at {at}")
        return differing_from_postgres(self.snapshot_holder, self.query, table, computed, position)

    def _note(self, words: str) -> None:
        note_run(self.connection, self.run.id, words, "running")
