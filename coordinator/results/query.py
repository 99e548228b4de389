"""A standing query, from its plan to its published result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
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
from coordinator.firing.progress import Progress, Telling, Wanted
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
from coordinator.publish.publishing import add_columns, apply_changes, lock_result
from coordinator.results.rare_values import PLANNED_ANEW, note_rare_values
from executors.executor import Executor
from executors.rows import arrow_schema
from planner.delta.methods import methods_of
from planner.pace.paths import Path, paths
from sources.warehouse.site import CaptureSite

_WIDER: Final = "a table is copied again, with room for all of its values"


@dataclass(frozen=True, slots=True)
class ComputedChanges:
    """A result that is computed and not yet published: its changes, and the offsets of all subplans after it.

    `from_scratch`: the changes are the whole result. `rebuilt`: the intermediate results were computed from
    scratch too. Without `fired` there was nothing to do. `base`: the offsets when the computation began.
    """

    position: int
    number: int
    fired: RunOutcome | None
    changes: pa.Table
    offsets: Offsets
    from_scratch: bool
    base: Offsets
    rebuilt: bool = False


@dataclass(slots=True)
class StandingQuery:
    """A planned query and its progress. `arrived`: the rows of the period that ended last, until its
    estimates are corrected by them. `is_outgrown`: its plan has to be replaced."""

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
        """The query with the plan that is kept, or with a new one if that cannot be used."""
        tables = tables_of(connection, query.id)
        prepared = prepare(connection, site, engine.engine, query, signatures)
        return StandingQuery(
            site, engine, query, prepared, offsets_from(offsets(connection, query.id)), tables
        )

    @property
    def work(self) -> Work:
        """The plan of the query, and how its buffers are stored."""
        return self.prepared.work

    @property
    def begins_from_scratch(self) -> bool:
        """Whether its plan has published nothing yet, so that the next result is computed from scratch."""
        return self._published not in self.offsets

    def is_planned_for(self, connection: Connection, query: Running) -> bool:
        """Whether the plan is still for the wanted methods and the tables that the query reads."""
        alike = methods_of(self.query.options) == methods_of(query.options)
        alike = alike and not self.is_outgrown
        return alike and query.status != "initialising" and self.tables == tables_of(connection, query.id)

    def fire(
        self, connection: Connection, query: Running, position: int, from_scratch: bool, wanted: Wanted
    ) -> ComputedChanges:
        """Compute the result at a position, without publishing it."""
        self._require_storable(connection, position)
        from_scratch = from_scratch or query.status == "initialising" or self.begins_from_scratch
        schema = arrow_schema(self.work.schemas[self.work.plan.result])
        if not from_scratch and self._is_flushed() and rows_behind(connection, self._positions()) == 0:
            return ComputedChanges(
                position, 0, None, schema.empty_table(), self.offsets, from_scratch, self.offsets
            )
        try:
            return self._fire(connection, position, from_scratch, False, wanted)
        except Error as error:
            if not error.of_values:
                raise
            if not self.offsets and not has_come_since_copied(connection, query.id):
                self._outgrow(connection, error)
                raise
            # A row that was deleted since may be to blame, so only rows that are there now are read.
            return self._refire(connection, position, wanted)

    def _refire(self, connection: Connection, position: int, wanted: Wanted) -> ComputedChanges:
        try:
            return self._fire(connection, position, True, True, wanted)
        except Error as error:
            self._outgrow(connection, error)
            raise

    def _outgrow(self, connection: Connection, error: Error) -> None:
        """Have the query planned again, once, if it failed by values that its plan does not expect."""
        if note_rare_values(connection, self.site, self.work, error):
            self.is_outgrown = True
            raise ConcurrentChange(PLANNED_ANEW) from error

    def _require_storable(self, connection: Connection, position: int) -> None:
        """Raise an error if a column that is read has values that the warehouse does not hold.

        If another type has room for them, the table is copied again.
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
        # Another query may have asked for that copy, which may have ended meanwhile.
        left = self._without_room(connection, position)
        for (buffer, column), why in left.items():
            if (buffer, column) not in helped:
                raise ValueNotStorable(self.work.label(buffer, column), why)
        raise ConcurrentChange(_WIDER)

    def _without_room(self, connection: Connection, position: int) -> dict[tuple[int, int], str]:
        """The columns with such values, by buffer and number in the plan, and the reason for each."""
        names = {buffer: self.work.name(buffer) for buffer in self.work.tables}
        values = unstorable_columns(connection, frozenset(names.values()), position)
        # A query that reads a table several times has several buffers of it, each with columns of its own.
        return {
            (buffer, number): values[name, column]
            for buffer, name in names.items()
            for number, column in self.work.columns(buffer).items()
            if (name, column) in values
        }

    def _fire(
        self, connection: Connection, position: int, from_scratch: bool, rebuild: bool, wanted: Wanted
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
        result = self.work.plan.result
        last = fired.offsets[result, self._published[1]]
        since = 0 if from_scratch else self.offsets.get(self._published, 0)
        changes = index.rows(result, (since, last), arrow_schema(self.work.schemas[result]))
        telling.tell(f"publishing {changes.num_rows:,} changed rows")
        period = {(PUBLISHED, self.work.name(table)): position for table in self.work.tables}
        reached = {**fired.offsets, **period, self._published: last}
        return ComputedChanges(position, number, fired, changes, reached, from_scratch, self.offsets, rebuild)

    def paced(self, connection: Connection) -> tuple[Paced, ...]:
        """The paths that are run between triggers, from the tables to the result."""
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
        wanted: Wanted,
    ) -> bool:
        """Run the due paths between triggers, and commit; each has the rows of the period that arrived so
        far.

        `consolidate`: rows that were deleted since are not read. False if the query has changed.
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
            committed = connection.closed  # then it is unknown whether it was
            raise
        finally:
            if not committed:
                warehouse.remove(batch.file for batch in fired.batches)
        if committed:
            self.offsets = fired.offsets
        return committed

    def _is_as_planned(self, connection: Connection, query: Running) -> bool:
        """Whether the query and its tables are as planned; they stay so until the transaction ends."""
        return hold_query(connection, query) and self.tables == tables_of(connection, query.id)

    def publish(
        self,
        connection: Connection,
        query: Running,
        computed: ComputedChanges,
        moment: datetime,
        since: float,
    ) -> bool:
        """Publish in the caller's transaction, which holds the epoch; False if the query has changed.

        The trigger fired at `moment`, which is `since` by the monotonic clock.
        """
        if computed.base is not self.offsets or not self._is_as_planned(connection, query):
            return False
        if computed.rebuilt:
            forget_batches_like(connection, node_buffers(query.id))
        if computed.fired is not None:
            lock_result(connection, self.prepared.result_table.relation)
            if query.columns_due:
                add_columns(connection, self.prepared.result_table.relation, query.view)
            self._save(connection, computed.number, computed.position, computed.fired, computed.offsets)
            apply_changes(connection, self.prepared.result_table, computed.changes, computed.from_scratch)
        outcome = self._outcome(connection, query, computed, time.monotonic() - since)
        record_trigger(connection, query.id, moment, computed.position, outcome)
        begin_period(connection, query.id)
        set_position(connection, query.id, computed.position)
        return True

    def _save(
        self, connection: Connection, number: int, position: int, fired: RunOutcome, reached: Offsets
    ) -> None:
        """Record the outcome of a run, in the caller's transaction."""
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
        self, connection: Connection, query: Running, computed: ComputedChanges, seconds: float
    ) -> Outcome:
        """How the goal was met; a result that is computed from scratch has no goal."""
        if self.estimate is None or computed.from_scratch:
            return Outcome(None, None, None, seconds, None)
        self.arrived = periods(connection, [query.id])[query.id].arrived
        work = 0.0 if computed.fired is None else computed.fired.work
        return self.estimate.outcome(work, self.arrived, seconds, measured_to_predicted(connection, query.id))

    def settle(self, computed: ComputedChanges) -> None:
        """Note that the result is committed: the next run begins at its offsets."""
        self.offsets = computed.offsets

    def discard(self, computed: ComputedChanges, connection: Connection | None = None) -> None:
        """Remove the files and records of a computation that will certainly not be published."""
        if computed.fired is None:
            return
        self.site.warehouse.remove(batch.file for batch in computed.fired.batches)
        if connection is not None and not connection.closed:
            note_progress(connection, computed.number, None)

    def has_read_behind(self, position: int) -> bool:
        """Whether some subplan has read further, so that this position cannot be computed any more."""
        names = {self.work.name(table) for table in self.work.tables}
        return any(at > position for (_subplan, name), at in self.offsets.items() if name in names)

    @property
    def _published(self) -> tuple[int, str]:
        """The key of the offset up to which the result is published."""
        return PUBLISHED, self.work.name(self.work.plan.result)

    def _is_flushed(self) -> bool:
        """Whether no computed rows wait to be read."""
        read = [(subplan.writes, buffer) for subplan in self.work.plan.subplans for buffer in subplan.reads]
        read.append((PUBLISHED, self.work.plan.result))
        written = ((subplan, buffer, self.work.name(buffer)) for subplan, buffer in read)
        return all(
            self.offsets.get((subplan, name), 0) >= self.offsets.get((buffer, name), 0)
            for subplan, buffer, name in written
        )

    def _positions(self) -> dict[str, int]:
        """The position up to which all subplans that read a table have read it, by table."""
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
