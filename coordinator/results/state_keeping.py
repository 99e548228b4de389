"""Decides which states queries keep, by what is expected and measured, and has the engine keep no others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from uuid import UUID

from psycopg import Connection

from catalog.capture.store import held_epoch
from catalog.postgres.schema import TableName
from catalog.queries.running import Running
from catalog.queries.states import save_states
from coordinator.firing.engine import EngineThread
from coordinator.planning.query_states import budget_of, decided_states, measured_states
from coordinator.results.query import QueryStates, StandingQuery
from executors.executor import StateBudget
from planner.cost.engines import most_kept
from planner.firing.states import State, states_of
from planner.state.choose import options, unchosen
from planner.state.divide import Wish
from planner.state.keepable import with_news
from planner.state.together import Budget, Known, Together, recomputing
from sources.warehouse.site import CaptureSite


@dataclass(frozen=True, slots=True)
class StateKeeping:
    """The states of the queries of a database."""

    site: CaptureSite
    engine: EngineThread

    def known(self, standing: StandingQuery, complete: frozenset[TableName]) -> Known:
        """What is known of a query's states."""
        return Known(complete, self._measured(standing, states_of(standing.work.plan)))

    def budget(self, standing: StandingQuery, query: Running) -> Budget:
        """What the query gets of the process's budget, by what it could do with it."""
        most, whole = budget_of(query.options), most_kept(standing.engines)
        shares = self.engine.shares
        return lambda every: shares.granted(query.id, Wish(every.frontier, most), whole)

    def keep(self, connection: Connection, standing: StandingQuery, chosen: Together, known: Known) -> None:
        """Keep these from now on, and list them in the catalog; in a transaction that holds the epoch."""
        is_bounded = standing.states.is_bounded
        standing.states = QueryStates(
            chosen.states, chosen.options, known.complete, known.measured, is_bounded
        )
        self.engine.allow(standing.state_budget)
        save_states(connection, standing.query.id, decided_states(standing.work, chosen.states))

    def before_run(self, connection: Connection, standing: StandingQuery, query: Running) -> None:
        """Decide again where states take more than the budget, or others have taken of it since."""
        is_bounded = isfinite(budget_of(query.options))
        standing.states = states = replace(standing.states, is_bounded=is_bounded)
        estimate = standing.estimate
        if states.options is None or estimate is None:
            most = min(budget_of(query.options), most_kept(standing.engines))
            standing.states = replace(states, choice=unchosen(most))
            return
        every = states.options
        measured = self._measured(standing, (one.state for one in every.states))
        is_above = _bytes(states, measured) > states.choice.budget
        if is_above:
            paces = tuple(path.pace for path in estimate.schedule.paths)
            period = with_news(replace(estimate.simulation, scanned=frozenset()), states.complete)
            schedule = estimate.schedule
            recompute = recomputing(estimate.simulation, schedule.goal, schedule.recompute_work)
            every = options(period, paces, measured, recompute)
        budget = self.budget(standing, query)(every)
        if not is_above and budget == states.choice.budget:
            return
        choice = every.within(budget)
        standing.states = replace(states, choice=choice, options=every, measured=measured)
        simulation = replace(estimate.simulation, scanned=choice.scanned)
        standing.estimate = replace(estimate, simulation=simulation)
        with held_epoch(connection, self.site.epoch):
            save_states(connection, query.id, decided_states(standing.work, choice))

    def forget(self, queries: Collection[UUID]) -> None:
        """Keep nothing for these queries."""
        self.engine.shares.forget(queries)
        for query in queries:
            self.engine.allow(StateBudget(str(query), 0.0))

    def _measured(self, standing: StandingQuery, states: Iterable[State]) -> Mapping[State, int]:
        """The bytes of those of the states that are kept, or were when they were dropped."""
        now = measured_states(standing.work, states, self.engine.kept(self.site.warehouse.root))
        return {**standing.states.measured, **now}


def _bytes(states: QueryStates, measured: Mapping[State, int]) -> int:
    """What the states take that are to be kept, as far as they were measured."""
    kept = (decision for decision in states.choice.decisions if decision.is_kept)
    return sum(measured.get(decision.state, decision.bytes) for decision in kept)
