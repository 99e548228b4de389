"""A standing query, from its plan to its published result."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from psycopg import Connection

from catalog.capture.defaults import defaults_of
from catalog.capture.store import manifest, name_batches
from catalog.postgres.schema import TableName
from catalog.postgres.signatures import Signatures
from catalog.queries.computed import forget_batches_like
from catalog.queries.executions import (
    GoalOutcome,
    end_execution,
    measured_to_predicted,
    note_progress,
    record_trigger,
)
from catalog.queries.paces import begin_period, periods
from catalog.queries.running import (
    Running,
    hold_query,
    offsets,
    save_offsets,
    set_position,
    tables_of,
)
from coordinator.decide.pacing import Paced
from coordinator.firing.batches import BatchIndex
from coordinator.firing.due_rows import rows_due, rows_in_all
from coordinator.firing.engine import EngineThread
from coordinator.firing.fresh_rows import NOTHING_READ, FreshRows, fresh_after
from coordinator.firing.read_offsets import has_read_behind
from coordinator.firing.work import (
    PUBLISHED,
    Offsets,
    Work,
    node_buffers,
    offsets_from,
    offsets_to,
)
from coordinator.planning.period_estimate import PeriodEstimate
from coordinator.planning.prepared import Prepared, prepare
from coordinator.planning.prices import Prices, chooses_itself
from coordinator.planning.publishing_cost import Published, ResultRows
from coordinator.planning.query_states import state_budget
from coordinator.publish.computed_rows import FEW_ROWS
from coordinator.publish.locks import add_columns, lock_result
from coordinator.publish.processor import PublishingClock
from coordinator.publish.publishing import apply_changes
from coordinator.publish.row_places import RowPlaces
from coordinator.results.computed_changes import ComputedChanges
from coordinator.results.paced_paths import paced_paths
from coordinator.results.run_costs import RunRows, arriving_kinds, first_estimate, first_price, run_prices
from executors.executor import StateBudget
from planner.cost.engines import EngineLimits
from planner.delta.methods import methods_of
from planner.firing.states import State
from planner.pace.paths import Path
from planner.state.choose import UNLIMITED, Options, StateChoice, unchosen
from sources.warehouse.site import CaptureSite


@dataclass(frozen=True, slots=True)
class QueryStates:
    """What a query keeps to look rows up, what that was chosen from, and the tables that were complete.

    `measured`: the bytes of what it keeps, or has tried to keep. `is_bounded`: by a MEMORY_BUDGET.
    """

    choice: StateChoice = field(default_factory=lambda: unchosen(UNLIMITED))
    options: Options | None = None
    complete: frozenset[TableName] = frozenset()
    measured: Mapping[State, int] = field(default_factory=dict)
    is_bounded: bool = False


@dataclass(slots=True)
class StandingQuery:
    """A planned query and its progress. `estimate`: of the period for which paces were chosen; until then
    runs are judged by that `at_first`. `arrived`: the rows of the period that ended last, until its
    estimates are corrected by them. `is_outgrown`: its plan has to be replaced. `engines`: those that may
    compute its subplans. `fresh`: the rows that these have not read as contents yet. `result_rows`: how many
    the result had when it was published last by this process. `states`: what it keeps between runs."""

    site: CaptureSite
    engine: EngineThread
    query: Running
    prepared: Prepared
    offsets: Offsets
    tables: str
    engines: tuple[EngineLimits, ...]
    estimate: PeriodEstimate | None = None
    at_first: PeriodEstimate | None = None
    arrived: Mapping[int, int] = field(default_factory=dict)
    is_outgrown: bool = False
    places: RowPlaces = field(default_factory=RowPlaces)
    fresh: FreshRows = field(default_factory=lambda: NOTHING_READ)
    result_rows: int | None = None
    states: QueryStates = field(default_factory=QueryStates)

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
        work = prepared.work
        engines = engine.engine.engines(work.plan, work.schemas, work.environment)
        if any(subplan.writes in engines[0].unable for subplan in work.plan.subplans):
            engine.foresee({engines[-1].name})
        reached = offsets_from(offsets(connection, query.id))
        return StandingQuery(
            site=site,
            engine=engine,
            query=query,
            prepared=prepared,
            offsets=reached,
            tables=tables,
            engines=engines,
        )

    @property
    def work(self) -> Work:
        """The plan of the query, and how its buffers are stored."""
        return self.prepared.work

    @property
    def state_budget(self) -> StateBudget:
        """What runs may keep for it."""
        return state_budget(self.work, self.states.choice, self.states.is_bounded)

    @property
    def begins_from_scratch(self) -> bool:
        """Whether its plan has published nothing yet, so that the next result is computed from scratch."""
        return self.published not in self.offsets

    def is_planned_for(self, connection: Connection, query: Running) -> bool:
        """Whether the plan is still for the wanted methods and the tables that the query reads."""
        alike = methods_of(self.query.options) == methods_of(query.options) and not self.is_outgrown
        return alike and query.status != "initialising" and self.tables == tables_of(connection, query.id)

    def paced(self, connection: Connection) -> tuple[Paced, ...]:
        """The paths that are run between triggers, from the tables to the result."""
        return paced_paths(connection, self.query.id, self.work)

    def prices(
        self,
        connection: Connection,
        query: Running,
        index: BatchIndex,
        position: int,
        due: Collection[Path] | None = None,
    ) -> Prices | None:
        """What a run is expected to take by changes and from scratch; None where there is no choice."""
        if self.estimate is None or not chooses_itself(query.options):
            return None
        self.estimate = self.estimate.for_kinds(arriving_kinds(connection, query.id, self.prepared.tables))
        result, written = self.work.plan.result, self.published[1]
        since, last = self.offsets.get(self.published, 0), self.offsets.get((result, written), 0)
        rows = RunRows(
            due=rows_due(self.work, self.offsets, index, position, due),
            everything=rows_in_all(self.work, index, position),
            fresh=self.fresh,
            unpublished=index.count(result, (since, last)) if since < last else 0,
            result=replace(
                self._result_rows(index.count(result, (0, last))),
                retracted_share=self.estimate.simulation.retracted_share(result),
            ),
        )
        return run_prices(connection, query.id, self.estimate, rows)

    def first_price(self, connection: Connection, index: BatchIndex, position: int) -> Prices:
        """What computing everything is expected to take where there is no other way."""
        everything = rows_in_all(self.work, index, position)
        judged = self.judged(connection)
        return first_price(connection, self.query.id, judged, everything, self._result_rows(0))

    def _result_rows(self, rows: int) -> ResultRows:
        """What is known of the rows of the result, of which there are these if nothing else is known."""
        known = rows if self.result_rows is None else self.result_rows
        return ResultRows(known, FEW_ROWS if self.places.are_known else 0.0)

    def is_as_planned(self, connection: Connection, query: Running) -> bool:
        """Whether the query and its tables are as planned; they stay so until the transaction ends."""
        return hold_query(connection, query) and self.tables == tables_of(connection, query.id)

    def publish(
        self,
        connection: Connection,
        query: Running,
        computed: ComputedChanges,
        moment: datetime,
        since: float,
    ) -> Collection[str] | None:
        """Publish in the caller's transaction, which holds the epoch; None if the query has changed.

        Given are the files that it takes the place of, which are garbage once it is committed. The trigger
        fired at `moment`, which is `since` by the monotonic clock.
        """
        if computed.base is not self.offsets or not self.is_as_planned(connection, query):
            return None
        replaced = forget_batches_like(connection, node_buffers(query.id)) if computed.how.rebuild else ()
        if computed.fired is not None:
            lock_result(connection, self.prepared.result_table.relation)
            if query.columns_due:
                add_columns(connection, self.prepared.result_table.relation, query.view)
            name_batches(connection, computed.fired.batches)
            save_offsets(connection, query.id, offsets_to(computed.offsets))
            published = self._write(connection, computed, self._rows_published(computed))
            how, judged = computed.how, self.judged(connection)
            end_execution(
                connection,
                computed.number,
                judged.execution(
                    computed.position,
                    computed.fired,
                    how.prices,
                    how.reads_everything,
                    self.fresh,
                    published,
                ),
            )
        outcome = self._outcome(connection, query, computed, time.monotonic() - since)
        record_trigger(connection, query.id, moment, computed.position, outcome)
        begin_period(connection, query.id)
        set_position(connection, query.id, computed.position)
        return replaced

    def _rows_published(self, computed: ComputedChanges) -> int:
        """About how many rows the result has before these changes are written."""
        if self.result_rows is not None:
            return self.result_rows
        if computed.how.rebuild or computed.fired is None:
            return computed.changes.rows
        return computed.fired.rows_before(self.work.plan.result)

    def _write(self, connection: Connection, computed: ComputedChanges, rows: int) -> Published:
        """Write the changes into the result's table, of so many rows, and say what that took."""
        as_a_whole = computed.how.from_scratch
        expected = self._result_rows(rows).expected_work(computed.changes.rows, as_a_whole=as_a_whole)
        clock = PublishingClock(connection)
        deleted, inserted = apply_changes(
            connection, self.prepared.result_table, computed.changes, as_a_whole, self.places
        )
        self.result_rows = computed.changes.rows if as_a_whole else rows + inserted - deleted
        return Published(expected, clock.seconds(), as_a_whole)

    def judged(self, connection: Connection) -> PeriodEstimate:
        """The estimate by which runs are judged; before paces are chosen, of a period that brings nothing."""
        if self.estimate is not None:
            return self.estimate
        if self.at_first is None:
            self.at_first = first_estimate(connection, self.prepared, self.engines)
        return self.at_first

    def _outcome(
        self, connection: Connection, query: Running, computed: ComputedChanges, seconds: float
    ) -> GoalOutcome:
        """How the goal was met; a result that is computed from scratch has no goal."""
        if self.estimate is None or not computed.how.has_goal:
            return GoalOutcome(None, None, None, seconds, None)
        arrived = periods(connection, [query.id])[query.id].arrived
        if not computed.how.from_scratch:  # else more was written than the arrived rows
            self.arrived = arrived
        work = 0.0 if computed.fired is None else computed.fired.work
        return self.estimate.outcome(work, arrived, seconds, measured_to_predicted(connection, query.id))

    def settle(self, computed: ComputedChanges) -> None:
        """Note that the result is committed: the next run begins at its offsets."""
        self.offsets = computed.offsets
        if computed.fired is not None:
            self.fresh = fresh_after(self.fresh, computed.fired.subplans)

    def discard(self, computed: ComputedChanges, connection: Connection | None = None) -> None:
        """Remove the files and records of a computation that will certainly not be published."""
        if computed.fired is None:
            return
        self.site.warehouse.remove(batch.file for batch in computed.fired.batches)
        if connection is not None and not connection.closed:
            note_progress(connection, computed.number, None)

    def has_read_behind(self, position: int) -> bool:
        """Whether some subplan has read further, so that this position cannot be computed any more."""
        return has_read_behind(self.work, self.offsets, position)

    @property
    def published(self) -> tuple[int, str]:
        """The key of the offset up to which the result is published."""
        return PUBLISHED, self.work.name(self.work.plan.result)

    def batch_index(self, connection: Connection, buffers: Iterable[int]) -> BatchIndex:
        """The batches of these buffers that the manifest names now."""
        names = {self.work.name(buffer) for buffer in buffers}
        known, defaults = manifest(connection, names), defaults_of(connection, names)
        return BatchIndex(self.work, self.site.warehouse, known, defaults)
