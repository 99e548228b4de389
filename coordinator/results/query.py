"""A standing query from its plan to its published answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import psycopg
import pyarrow as pa
from psycopg import Connection

from catalog.capture.defaults import defaults_of
from catalog.capture.store import held_epoch, manifest, name_batches
from catalog.capture.widening import (
    has_come_since_copied,
    unstorable_columns,
    widen,
)
from catalog.errors import (
    ConcurrentChange,
    Error,
    ValueNotStorable,
)
from catalog.failpoints import failpoint
from catalog.postgres.signatures import Signatures
from catalog.queries.computed import forget_batches_like
from catalog.queries.executions import (
    Execution,
    Outcome,
    begin_execution,
    end_execution,
    measured_to_predicted,
    note_progress,
    record_trigger,
)
from catalog.queries.paces import begin_period, note_worked, paces_of, periods
from catalog.queries.running import (
    Running,
    hold_query,
    offsets,
    rows_behind,
    save_offsets,
    set_position,
    tables_of,
)
from coordinator.decide.pacing import Paced, tables_below
from coordinator.firing.batches import BatchIndex
from coordinator.firing.engine import EngineThread
from coordinator.firing.outcome import RunOutcome
from coordinator.firing.progress import Progress, Telling
from coordinator.firing.query_run import QueryRun
from coordinator.firing.work import (
    NOTHING_READ,
    PUBLISHED,
    Offsets,
    Work,
    node_buffers,
    offsets_from,
    offsets_to,
)
from coordinator.planning.period_estimate import PeriodEstimate
from coordinator.planning.prepared import Prepared, prepare
from coordinator.publish.publishing import add_columns, apply_changes, lock_answer
from coordinator.results.rare_values import PLANNED_ANEW, note_rare_values
from executors.executor import Executor
from executors.rows import arrow_schema
from planner.delta.methods import methods_of
from planner.pace.paths import Path, paths
from sources.warehouse.site import CaptureSite

_WIDER: Final = "a table is copied again, with room for all of its values"


@dataclass(frozen=True, slots=True)
class ComputedChanges:
    """An answer that is computed and not yet published: its changes, and where all subplans are then.

    `anew`: the changes are all of the answer. `rebuilt`: so is all that was computed on the way. Without
    `fired` there was nothing to do. `base`: where the subplans were when it was begun.
    """

    position: int
    number: int
    fired: RunOutcome | None
    changes: pa.Table
    offsets: Offsets
    anew: bool
    base: Offsets
    rebuilt: bool = False


@dataclass(slots=True)
class StandingQuery:
    """What is known of a query while it is worked; `arrived`: the rows of the period that ended last, until
    its estimates are corrected by it. `is_outgrown`: its plan will not do any more."""

    site: CaptureSite
    engine: EngineThread
    query: Running
    prepared: Prepared
    offsets: Offsets
    tables: str
    estimate: PeriodEstimate | None = None
    arrived: Mapping[int, int] = field(default_factory=dict)
    is_outgrown: bool = False

    @staticmethod
    def plan(
        connection: Connection,
        site: CaptureSite,
        engine: EngineThread,
        query: Running,
        signatures: Signatures,
    ) -> StandingQuery:
        """The query with the plan that it had before, or with a new one where that cannot be used."""
        tables = tables_of(connection, query.id)
        prepared = prepare(connection, site, engine.engine, query, signatures)
        return StandingQuery(
            site, engine, query, prepared, offsets_from(offsets(connection, query.id)), tables
        )

    @property
    def work(self) -> Work:
        """What is computed for the query."""
        return self.prepared.work

    @property
    def is_anew(self) -> bool:
        """Whether nothing of its plan is published: its next answer is computed from scratch."""
        return self._published not in self.offsets

    def is_planned_for(self, connection: Connection, query: Running) -> bool:
        """Whether the methods wanted, and the tables that it reads, are still those of the plan."""
        alike = methods_of(self.query.options) == methods_of(query.options)
        alike = alike and not self.is_outgrown
        return alike and query.status != "initialising" and self.tables == tables_of(connection, query.id)

    def fire(
        self, connection: Connection, query: Running, position: int, anew: bool, wanted: Callable[[], bool]
    ) -> ComputedChanges:
        """Compute the result at a position, without publishing it."""
        self._require_storable(connection, position)
        anew = anew or query.status == "initialising" or self.is_anew
        schema = arrow_schema(self.work.schemas[self.work.plan.answer])
        if not anew and self._is_flushed() and rows_behind(connection, self._positions()) == 0:
            return ComputedChanges(position, 0, None, schema.empty_table(), self.offsets, anew, self.offsets)
        try:
            return self._fire(connection, position, anew, False, wanted)
        except Error as error:
            if not error.of_values:
                raise
            if not self.offsets and not has_come_since_copied(connection, query.id):
                self._outgrow(connection, error)
                raise
            # A row may be to blame that was taken back since: only what is there now counts.
            return self._refire(connection, position, wanted)

    def _refire(self, connection: Connection, position: int, wanted: Callable[[], bool]) -> ComputedChanges:
        try:
            return self._fire(connection, position, True, True, wanted)
        except Error as error:
            self._outgrow(connection, error)
            raise

    def _outgrow(self, connection: Connection, error: Error) -> None:
        """Have it planned anew, once, where it failed by values that its plan does not reckon with."""
        if note_rare_values(connection, self.site, self.work, error):
            self.is_outgrown = True
            raise ConcurrentChange(PLANNED_ANEW) from error

    def _require_storable(self, connection: Connection, position: int) -> None:
        """No column that is read has a value in it that is not in the warehouse.

        Where there can be room for it, the table is copied again.
        """
        unstorable = self._without_room(connection, position)
        if not unstorable:
            return
        with held_epoch(connection, self.site.epoch):
            helped = {
                (buffer, column)
                for buffer, column in unstorable
                if widen(connection, self.work.tables[buffer], self.work.attribute(buffer, column))
            }
        # Meanwhile such a copy may have ended that another query asked for.
        left = self._without_room(connection, position)
        for (buffer, column), why in left.items():
            if (buffer, column) not in helped:
                raise ValueNotStorable(self.work.label(buffer, column), why)
        raise ConcurrentChange(_WIDER)

    def _without_room(self, connection: Connection, position: int) -> dict[tuple[int, int], str]:
        """The columns that it reads, by buffers and their numbers in the plan, with such a value; and why."""
        names = {buffer: self.work.name(buffer) for buffer in self.work.tables}
        values = unstorable_columns(connection, frozenset(names.values()), position)
        # Several buffers are of one table where a query reads it several times, each with columns of its own.
        return {
            (buffer, number): values[name, column]
            for buffer, name in names.items()
            for number, column in self.work.columns(buffer).items()
            if (name, column) in values
        }

    def _fire(
        self, connection: Connection, position: int, anew: bool, rebuild: bool, wanted: Callable[[], bool]
    ) -> ComputedChanges:
        index = self._batch_index(connection, self.work.tables if rebuild else self.work.schemas)
        offsets = NOTHING_READ if rebuild else self.offsets
        all_paths = range(len(paths(self.work.plan)))
        number = begin_execution(connection, self.query.id, all_paths, self.engine.name)
        warehouse = self.site.warehouse
        progress = Progress(len(self.work.plan.subplans))
        telling = Telling(connection, number, progress, lambda: self.engine.starts, wanted)

        def work(executor: Executor) -> RunOutcome:
            run = QueryRun(executor, self.work, offsets, index, warehouse, number, rebuild, progress)
            return run.fire(position)

        try:
            fired = self.engine.run(work, telling.is_wanted)
        except Exception:
            telling.end()
            raise
        answer = self.work.plan.answer
        last = fired.offsets[answer, self._published[1]]
        since = 0 if anew else self.offsets.get(self._published, 0)
        changes = index.rows(answer, (since, last), arrow_schema(self.work.schemas[answer]))
        telling.tell(f"publishing {changes.num_rows:,} changed rows")
        period = {(PUBLISHED, self.work.name(table)): position for table in self.work.tables}
        reached = {**fired.offsets, **period, self._published: last}
        return ComputedChanges(position, number, fired, changes, reached, anew, self.offsets, rebuild)

    def paced(self, connection: Connection) -> tuple[Paced, ...]:
        """The query's paths, from the tables to the result, as far as they are run between triggers."""
        paces = paces_of(connection, self.query.id)
        below = tables_below(self.work.plan, self.work.tables)
        return tuple(
            Paced(path, pace, below[path], rows_at_last_run)
            for number, path in enumerate(paths(self.work.plan))
            for pace, rows_at_last_run in [paces.get(number, (1, 0))]
        )

    def work_ahead(
        self,
        connection: Connection,
        query: Running,
        position: int,
        due: Mapping[Path, int],
        consolidate: bool,
        wanted: Callable[[], bool],
    ) -> bool:
        """Fire what is due between triggers, and commit it; each path with the rows of the period so far.

        `consolidate`: nothing is looked at that was taken back. False if the query is not what it was.
        """
        numbers = {path: number for number, path in enumerate(paths(self.work.plan))}
        index = self._batch_index(connection, self.work.schemas)
        number = begin_execution(
            connection, query.id, sorted(numbers[path] for path in due), self.engine.name
        )
        warehouse = self.site.warehouse

        def work(executor: Executor) -> RunOutcome:
            run = QueryRun(executor, self.work, self.offsets, index, warehouse, number, consolidate)
            return run.fire(position, due)

        fired = self.engine.run(work, wanted)
        failpoint("ahead: fired")
        committed = False
        try:
            with held_epoch(connection, self.site.epoch):
                if self._is_as_planned(connection, query):
                    self._save(connection, number, position, fired, fired.offsets)
                    note_worked(connection, query.id, {numbers[path]: rows for path, rows in due.items()})
                    committed = True
                failpoint("ahead: before commit")
        except psycopg.Error:
            committed = connection.closed  # then nobody knows
            raise
        finally:
            if not committed:
                warehouse.remove(batch.file for batch in fired.batches)
        if committed:
            self.offsets = fired.offsets
        return committed

    def _is_as_planned(self, connection: Connection, query: Running) -> bool:
        """Whether it is what it was, and so are its tables; it stays so until the transaction ends."""
        return hold_query(connection, query) and self.tables == tables_of(connection, query.id)

    def publish(
        self, connection: Connection, query: Running, ready: ComputedChanges, moment: datetime, since: float
    ) -> bool:
        """Within the caller's transaction, which holds the epoch; False if the query is not what it was.

        The trigger fired at that moment, which is `since` by the clock that nobody sets.
        """
        if ready.base is not self.offsets or not self._is_as_planned(connection, query):
            return False
        if ready.rebuilt:
            forget_batches_like(connection, node_buffers(query.id))
        if ready.fired is not None:
            lock_answer(connection, self.prepared.answer.relation)
            if query.columns_due:
                add_columns(connection, self.prepared.answer.relation, query.view)
            self._save(connection, ready.number, ready.position, ready.fired, ready.offsets)
            apply_changes(connection, self.prepared.answer, ready.changes, ready.anew)
        outcome = self._outcome(connection, query, ready, time.monotonic() - since)
        record_trigger(connection, query.id, moment, ready.position, outcome)
        begin_period(connection, query.id)
        set_position(connection, query.id, ready.position)
        return True

    def _save(
        self, connection: Connection, number: int, position: int, fired: RunOutcome, reached: Offsets
    ) -> None:
        """What a firing came to, in the caller's transaction."""
        name_batches(connection, fired.batches)
        save_offsets(connection, self.query.id, offsets_to(reached))
        measured = self.estimate.measurements(fired) if self.estimate is not None else ()
        execution = Execution(
            position,
            fired.rows_in,
            fired.rows_out,
            fired.jobs,
            fired.processor_seconds,
            fired.work,
            sum(measurement.predicted for measurement in measured) if self.estimate is not None else None,
            fired.engines or None,
            measured,
        )
        end_execution(connection, number, execution)

    def _outcome(
        self, connection: Connection, query: Running, ready: ComputedChanges, seconds: float
    ) -> Outcome:
        """How the goal was met; a result that is computed from scratch has no goal."""
        if self.estimate is None or ready.anew:
            return Outcome(None, None, None, seconds, None)
        self.arrived = periods(connection, [query.id])[query.id].arrived
        work = 0.0 if ready.fired is None else ready.fired.work
        return self.estimate.outcome(work, self.arrived, seconds, measured_to_predicted(connection, query.id))

    def settle(self, ready: ComputedChanges) -> None:
        """Note that the result is committed: the next run begins where this one has read up to."""
        self.offsets = ready.offsets

    def discard(self, ready: ComputedChanges, connection: Connection | None = None) -> None:
        """Remove the files of a computation that is certain not to be published, and what was told of it."""
        if ready.fired is None:
            return
        self.site.warehouse.remove(batch.file for batch in ready.fired.batches)
        if connection is not None and not connection.closed:
            note_progress(connection, ready.number, None)

    def has_read_behind(self, position: int) -> bool:
        """Whether some part of it has come further: then it cannot be computed at that position any more."""
        names = {self.work.name(table) for table in self.work.tables}
        return any(at > position for (_subplan, name), at in self.offsets.items() if name in names)

    @property
    def _published(self) -> tuple[int, str]:
        """Under what its offset is kept up to which the answer is published."""
        return PUBLISHED, self.work.name(self.work.plan.answer)

    def _is_flushed(self) -> bool:
        """Whether nothing that was computed waits to be read."""
        read = [(subplan.writes, buffer) for subplan in self.work.plan.subplans for buffer in subplan.reads]
        read.append((PUBLISHED, self.work.plan.answer))
        written = ((subplan, buffer, self.work.name(buffer)) for subplan, buffer in read)
        return all(
            self.offsets.get((subplan, name), 0) >= self.offsets.get((buffer, name), 0)
            for subplan, buffer, name in written
        )

    def _positions(self) -> dict[str, int]:
        """Up to where each table has been read by all who read it."""
        read = [
            (self.work.name(buffer), self.offsets.get((subplan.writes, self.work.name(buffer)), 0))
            for subplan in self.work.plan.subplans
            for buffer in subplan.reads
            if buffer in self.work.tables
        ]
        return {name: min(at for other, at in read if other == name) for name, _at in read}

    def _batch_index(self, connection: Connection, buffers: Iterable[int]) -> BatchIndex:
        names = {self.work.name(buffer) for buffer in buffers}
        defaults = defaults_of(connection, names)
        return BatchIndex(self.work, self.site.warehouse, manifest(connection, names), defaults)
