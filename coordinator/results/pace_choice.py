"""Chooses how often each part of a query runs until its next trigger, and sees when that has drifted."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.capture.arrivals import known_arrivals
from catalog.capture.store import held_epoch
from catalog.postgres.schema import TableName
from catalog.queries.measurements import (
    KnownEngine,
    firings,
    known_engines,
    measured,
    own_measured,
    rows_written,
    save_engines,
)
from catalog.queries.paces import (
    Period,
    corrections_of,
    paces_of,
    periods,
    save_expected,
    save_outlook,
    save_paces,
)
from catalog.queries.running import Running, lock_query
from coordinator.decide.drift import Worked, arrivals_have_drifted
from coordinator.planning.costs import engines_to_keep, fitted, fitted_to_subplans, weights_by_engine
from coordinator.planning.expected_rows import expected_arrivals
from coordinator.planning.period_estimate import PeriodEstimate, at_the_beginning
from coordinator.planning.query_states import complete_tables
from coordinator.planning.recording import paths_to_save, subplan_texts
from coordinator.planning.statistics import read_statistics
from coordinator.results.failing import contained
from coordinator.results.known_queries import KnownQueries
from coordinator.results.query import StandingQuery
from coordinator.results.run_costs import arriving_kinds, experience_of
from coordinator.results.state_keeping import StateKeeping
from planner.algebra.statistics import Statistics
from planner.cost.engines import Costs, EngineLimits
from planner.cost.weights import Weights
from planner.pace.choose import limit_of, scheduled, simulated
from planner.pace.knobs import knobs_of
from planner.pace.schedule import Arrivals, Schedule, goal_of, is_wish
from planner.pace.scratch import scratch_run
from planner.pace.simulation import Corrections
from planner.state.together import together
from sources.warehouse.site import CaptureSite

log = logging.getLogger(__name__)

_FIT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The sizes of a query's tables at its latest result."""

    position: int | None
    statistics: Statistics


class PaceChoice:
    """Chooses the paces of a query's period from what the catalog knows, and stores them."""

    def __init__(self, site: CaptureSite, known: KnownQueries, states: StateKeeping) -> None:
        self._site = site
        self._known = known
        self._states = states
        self._beginnings: dict[UUID, _Beginning] = {}
        self._weights: Mapping[str, Weights] | None = None
        self._fitted = float("-inf")

    def forget(self, queries: Collection[UUID]) -> None:
        """Forget what these queries' tables held."""
        for id in queries:
            self._beginnings.pop(id, None)

    def has_drifted(self, connection: Connection, query: Running, period: Period) -> bool:
        """Whether the period of the query goes another way than its paces were chosen for."""
        with contained(log, connection, query, "paces"):
            return self._has_drifted(connection, query, period)
        return False

    def choose(self, connection: Connection, query: Running, is_same_period: bool) -> None:
        """Choose paces; if they were chosen in this period before, earlier expectations count."""
        with contained(log, connection, query, "paces"):
            period = periods(connection, [query.id])[query.id]
            self._choose(connection, query, period if is_same_period else replace(period, expected={}))

    def _has_drifted(self, connection: Connection, query: Running, period: Period) -> bool:
        standing = self._known.get(connection, query)
        if standing.estimate is None:
            return True
        arrivals = _arrivals(connection, query, standing, period)
        if arrivals_have_drifted(period.expected, _rows(standing, arrivals)):
            return True
        if standing.estimate.cost_has_changed(self._costs(connection, standing)):
            return True
        return not standing.begins_from_scratch and bool(
            standing.estimate.misjudged_subplans(_worked(connection, query, period))
        )

    def _choose(self, connection: Connection, query: Running, period: Period) -> None:
        standing = self._known.get(connection, query)
        prepared = standing.prepared
        arrivals = _arrivals(connection, query, standing, period)
        statistics = self._statistics(connection, query, standing, arrivals, period)
        costs = self._costs(connection, standing)
        corrections = _corrections(connection, query, standing, period)
        kinds = arriving_kinds(connection, query.id, prepared.tables)
        simulation = simulated(prepared.work.plan, statistics, arrivals, costs, corrections, kinds)
        goal = goal_of(query.options)
        learned = experience_of(connection, query.id, costs)
        recompute = learned.computing_work(scratch_run(simulation, None, learned.written, consolidates=True))
        knobs = knobs_of(goal.paces, simulation)
        states = self._states.known(standing, _complete(connection, query, standing))
        chosen = together(
            simulation,
            states,
            self._states.budget(standing, query),
            lambda period: scheduled(period, goal, knobs, recompute_work=recompute),
            goal,
            recompute,
        )
        schedule = chosen.schedule
        comes = any(arriving.changed for arriving in arrivals.values())
        with held_epoch(connection, self._site.epoch):
            lock_query(connection, query.id)
            save_paces(connection, query.id, paths_to_save(schedule, prepared.work.plan))
            save_expected(connection, query.id, _rows(standing, arrivals))
            self._states.keep(connection, standing, chosen, states)
            save_outlook(
                connection,
                query.id,
                subplan_texts(prepared.work.plan, schedule, corrections, costs.own),
                final_work=schedule.final_work / schedule.batch_work if schedule.batch_work else 1.0,
                batch_work=schedule.batch_work,
                recompute_work=schedule.recompute_work,
                reachable=_is_reachable(schedule, costs, comes),
            )
        self._known.foresee(name for subplan in schedule.subplans for name in subplan.engines)
        standing.estimate = PeriodEstimate(chosen.simulation, schedule, prepared.work.tables)
        standing.arrived = {}

    def _statistics(
        self,
        connection: Connection,
        query: Running,
        standing: StandingQuery,
        arrivals: Mapping[TableName, Arrivals],
        period: Period,
    ) -> Statistics:
        """The statistics at the beginning of the period: read once, minus the rows that had arrived since."""
        began = self._beginnings.get(query.id)
        if began is None or began.position != query.position:
            tables = standing.prepared.tables
            arrived = {
                table.name: arrivals[table.name].scaled(period.arrived.get(table.oid, 0)) for table in tables
            }
            began = _Beginning(query.position, at_the_beginning(read_statistics(connection, tables), arrived))
            self._beginnings[query.id] = began
        return began.statistics

    def _costs(self, connection: Connection, standing: StandingQuery) -> Costs:
        """What runs of a query cost: by all that was measured here, and what was of the plan that it has."""
        engines = standing.engines
        weights = self._known_weights(connection, engines)
        own = fitted_to_subplans(own_measured(connection, standing.query.id), weights)
        return Costs(engines, weights, own)

    def _known_weights(
        self, connection: Connection, engines: Sequence[EngineLimits]
    ) -> Mapping[str, Weights]:
        """The weights fitted last; now and then they are fitted again to measured runs."""
        now = time.monotonic()
        if self._weights is None or now - self._fitted > _FIT_SECONDS:
            kept = known_engines(connection)
            self._weights = {**weights_by_engine(kept), **fitted(measured(connection))}
            self._fitted = now
            known = engines_to_keep(engines, self._weights)
            if sorted(known, key=_name) != sorted(kept, key=_name):
                with held_epoch(connection, self._site.epoch):
                    save_engines(connection, known)
        return self._weights


def _name(engine: KnownEngine) -> str:
    return engine.engine


def _arrivals(
    connection: Connection, query: Running, standing: StandingQuery, period: Period
) -> Mapping[TableName, Arrivals]:
    tables = {table.name: table.oid for table in standing.prepared.tables}
    known = known_arrivals(connection, query.id, tables.values())
    zone = query.settings.get("TimeZone", "UTC")
    return expected_arrivals(tables, query.options, zone, known, period)


def _complete(connection: Connection, query: Running, standing: StandingQuery) -> frozenset[TableName]:
    tables = {table.name: table.oid for table in standing.prepared.tables}
    return complete_tables(tables, query.options, known_arrivals(connection, query.id, tables.values()))


def _rows(standing: StandingQuery, arrivals: Mapping[TableName, Arrivals]) -> Mapping[int, float]:
    return {table.oid: arrivals[table.name].changed for table in standing.prepared.tables}


def _corrections(
    connection: Connection, query: Running, standing: StandingQuery, period: Period
) -> Corrections:
    """Corrections from the period that has ended, else from the one under way; else those known before."""
    estimate, id = standing.estimate, query.id
    if estimate is None:
        return corrections_of(connection, id)
    if standing.arrived:
        return estimate.corrections(
            standing.arrived, firings(connection, id, 1), rows_written(connection, id, 1)
        )
    if standing.begins_from_scratch:  # computing from scratch writes more than the arrived rows
        return estimate.simulation.corrections
    worked = _worked(connection, query, period)
    return estimate.corrections(worked.arrived, worked.firings, estimate.misjudged_subplans(worked))


def _worked(connection: Connection, query: Running, period: Period) -> Worked:
    rows_at_last_run = {path: rows for path, (_pace, rows) in paces_of(connection, query.id).items()}
    return Worked(
        period.arrived,
        rows_at_last_run,
        firings(connection, query.id, 0),
        rows_written(connection, query.id, 0),
    )


def _is_reachable(schedule: Schedule, costs: Costs, comes: bool) -> bool | None:
    """Whether the goal can be met; None while it is unknown how many rows will arrive."""
    if not comes and is_wish(schedule.goal):
        return None
    return schedule.reachable * schedule.batch_work <= limit_of(schedule.goal, schedule.batch_work, costs)
