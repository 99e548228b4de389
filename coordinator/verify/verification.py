"""The comparison of one result, at one position: computed beside everything else that is computed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from psycopg import Connection

from catalog.queries.awaited import note_run
from catalog.queries.running import Run, Running, save_differences
from catalog.queries.telling import finish_verification
from coordinator.firing.engine import Cancelled
from coordinator.firing.progress import Wanted
from coordinator.publish.result_table import ResultTable
from coordinator.publish.row_places import RowPlaces
from coordinator.results.computation import compute, compute_all
from coordinator.results.computed_changes import ComputedChanges
from coordinator.results.positions_in_use import PositionsInUse
from coordinator.results.query import StandingQuery
from coordinator.verify.choice import Choice, ComparedWith
from coordinator.verify.result_copy import begin_copy, copy_result
from coordinator.verify.snapshot import SnapshotHolder
from coordinator.verify.verify import Difference, differing_from_postgres, differing_from_scratch
from sources.server.position import format_lsn
from sources.server.session import connect


@dataclass(frozen=True, slots=True)
class Verification:
    """What is compared.

    `standing`: the query as it was when this began: its results may be published meanwhile, which changes
    neither its offsets here nor the copy of its table in the session `copying`. What was opened for this is
    on the stack `opened`.
    """

    address: str
    query: Running
    run: Run
    standing: StandingQuery
    snapshot_holder: SnapshotHolder
    at: int
    copying: Connection
    opened: ExitStack

    @staticmethod
    def begin(
        address: str,
        query: Running,
        run: Run,
        standing: StandingQuery,
        snapshot_holder: SnapshotHolder,
        at: int,
        positions: PositionsInUse,
    ) -> Verification:
        """Keep what is there now of the result, and of the batches that it is computed from."""
        with ExitStack() as opened:
            opened.callback(positions.release, positions.hold(at))
            copying = opened.enter_context(snapshot_holder.session())
            begin_copy(copying)
            own = replace(
                standing,
                engine=standing.engine.beside,
                estimate=None,
                at_first=None,
                places=RowPlaces(),
            )
            return Verification(
                address=address,
                query=query,
                run=run,
                standing=own,
                snapshot_holder=snapshot_holder,
                at=at,
                copying=copying,
                opened=opened.pop_all(),
            )

    def carry_out(self, choice: Choice, kept: Callable[[Connection], Wanted]) -> None:
        """Compare, and tell the client what came of it; nothing that was computed for it is left.

        `kept` gives what tells, by a connection, whether the query is unchanged.
        """
        with self.opened, connect(self.address, "gavial verify") as connection:
            is_kept = kept(connection)

            def is_wanted() -> bool:
                return self.snapshot_holder.is_wanted() and is_kept()

            try:
                self._compare(connection, choice, is_wanted)
            except Exception as error:
                if is_wanted():
                    raise
                raise Cancelled from error  # such as for files that are gone with the query

    def _compare(self, connection: Connection, choice: Choice, is_wanted: Wanted) -> None:
        computed: list[ComputedChanges] = []
        try:
            table = copy_result(self.copying, self.standing.prepared.result_table)
            computed.append(compute(self.standing, connection, self.query, self.at, False, is_wanted))
            if choice.compared_with is ComparedWith.SPARK:
                computed.append(compute_all(self.standing, connection, self.at, is_wanted))
            differences = self._differences(connection, table, *computed)
        finally:
            for changes in computed:
                self.standing.discard(changes, connection)
        with connection.transaction():
            save_differences(connection, self.run.id, differences)
            finish_verification(connection, self.run.id, self.at, choice.compared_with.value, choice.why)

    def _differences(
        self,
        connection: Connection,
        table: ResultTable,
        computed: ComputedChanges,
        expected: ComputedChanges | None = None,
    ) -> list[Difference]:
        at = format_lsn(self.at)
        if expected is not None:
            words = f"comparing with what was computed from scratch at {at}"
            note_run(connection, self.run.id, words, "running")
            return differing_from_scratch(self.copying, table, computed, expected)
        position = self.snapshot_holder.position
        assert position is not None
        words = f"comparing with PostgreSQL's own result at {at}"
        note_run(connection, self.run.id, words, "running")
        return differing_from_postgres(
            self.copying, self.snapshot_holder, self.query, table, computed, position
        )
