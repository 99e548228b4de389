"""VERIFY statements that wait: each at a position of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.queries.awaited import note_run
from catalog.queries.running import Run, Running, save_differences
from catalog.queries.telling import fail_run, finish_run
from coordinator.decide.failure_policy import why_not
from coordinator.firing.engine import Cancelled
from coordinator.results.failing import ends_all, failure_of, log_failure
from coordinator.results.known_queries import KnownQueries
from coordinator.verify.snapshot import SnapshotHolder
from coordinator.verify.verify import differing_rows
from sources.server.position import Position, format_lsn
from sources.server.senders import left

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
            has_result = query is not None and query.answered and not query.columns_due
            if query is not None and query.status == "error" and not has_result:
                fail_run(connection, run.id, why_not(query))
            if query is None or query.status == "initialising" or not has_result or not query.captured:
                self._forget(run.id)
                continue
            if run.id not in self._snapshot_holders:
                if len(self._snapshot_holders) >= self._most(connection):
                    self._queue(connection, run)
                    continue
                self._begin(connection, run)
            self._continue(connection, query, run, self._snapshot_holders[run.id])

    def _most(self, connection: Connection) -> int:
        """How many may be under way: what the server has left, but one for tables that are copied."""
        names = [SnapshotHolder.session_name(run) for run in self._snapshot_holders]
        return max(left(connection, names) - 1, 1)

    def _queue(self, connection: Connection, run: Run) -> None:
        if run.id not in self._queued:
            self._queued.add(run.id)
            note_run(connection, run.id, _QUEUED)

    def _begin(self, connection: Connection, run: Run) -> None:
        self._snapshot_holders[run.id] = SnapshotHolder(self._address, run.id)
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
            snapshot_holder.position.lsn
            for snapshot_holder in self._snapshot_holders.values()
            if snapshot_holder.position is not None
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
            if snapshot_holder.position is None or self._captured() < snapshot_holder.position.lsn:
                return
            standing = self._known.get(connection, query)
            if standing.has_read_behind(snapshot_holder.position.lsn):
                self._forget(run.id)
                return
            self._verify(connection, query, run, snapshot_holder, snapshot_holder.position)
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

    def _verify(
        self,
        connection: Connection,
        query: Running,
        run: Run,
        snapshot_holder: SnapshotHolder,
        position: Position,
    ) -> None:
        is_wanted = self._known.until_changed(connection, query)
        standing = self._known.get(connection, query)
        computed = standing.fire(
            connection, query, position.lsn, False, lambda: snapshot_holder.is_wanted() and is_wanted()
        )
        try:
            at = format_lsn(position.lsn)
            note_run(connection, run.id, f"comparing with PostgreSQL's own result at {at}")
            differences = differing_rows(
                snapshot_holder, query, standing.prepared.result_table, computed, position
            )
        finally:
            standing.discard(computed, connection)
        with connection.transaction():
            save_differences(connection, run.id, differences)
            finish_run(connection, run.id, position.lsn)
