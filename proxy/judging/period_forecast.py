"""What keeping a query would cost, from the figures that its database sends: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

from catalog.postgres.schema import TableName
from coordinator.decide.forecast import History, forecast
from coordinator.planning.period_estimate import changed_rows, kind_of, scaled, stated
from coordinator.planning.planning import Maintainable
from dialect.statements.expectations import rows_expected
from planner.algebra.statistics import Statistics
from planner.cost.weights import Weights, weights_from
from planner.delta.weighted import DeltaPlan
from planner.pace.choose import at_paces, limit_of, scheduled, simulated
from planner.pace.knobs import knobs_of
from planner.pace.paths import paths
from planner.pace.schedule import Arrivals, Goal, PathPlan, Schedule, goal_of, is_wish
from planner.pace.simulation import Corrections, OwnWeights

KeptPaces: TypeAlias = Mapping[str, Any]
"""The pace, incrementability and reason of each path of a plan, by its number."""

_NOTHING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class PeriodForecast:
    """A period of the query: what comes, and what work takes.

    The corrections, and the weights of single subplans, are those of the plan that is kept.
    """

    arrivals: Mapping[TableName, Arrivals]
    weights: Weights
    goal: Goal
    on_demand: bool
    corrections: Corrections
    own: OwnWeights

    def schedule(
        self, maintainable: Maintainable, statistics: Statistics, kept: KeptPaces | None, *, to_the_end: bool
    ) -> Schedule | None:
        """How often its parts are worked; None where nobody knows what comes.

        `kept`: those of the plan, if it is the one that the query is computed by. Others are searched for.
        """
        if not any(changed_rows(arrival) for arrival in self.arrivals.values()):
            return None
        plan = maintainable.planned.delta
        is_kept = kept is not None
        corrections, own = (self.corrections, self.own) if is_kept else ({}, {})
        simulation = simulated(plan, statistics, self.arrivals, self.weights, corrections, own)
        knobs = knobs_of(self.goal.paces, simulation)
        optimised = scheduled(simulation, self.goal, knobs, to_the_end=to_the_end)
        chosen = None if kept is None else kept_paths(plan, kept)
        return optimised if chosen is None else at_paces(optimised, simulation, chosen)

    @property
    def is_wish(self) -> bool:
        """Whether less is to be left for the trigger than all."""
        return is_wish(self.goal)

    def is_met(self, schedule: Schedule) -> bool:
        """Whether the schedule leaves as little for the trigger as was asked for."""
        return schedule.final_work <= limit_of(self.goal, schedule.batch_work, self.weights) + _NOTHING


def kept_paths(plan: DeltaPlan, kept: KeptPaces) -> tuple[PathPlan, ...] | None:
    """The paths with the paces that are kept; None where none have been chosen yet."""
    every = paths(plan)
    if any(str(number) not in kept for number in range(len(every))):
        return None
    return tuple(PathPlan(path, *kept[str(number)]) for number, path in enumerate(every))


def read_period_forecast(
    figures: Mapping[str, Any], sizes: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> PeriodForecast:
    """The forecast, from what `gavial.figures` and `gavial.sizes` give, and the options of the query."""
    tables = {TableName(table["schema"], table["name"]): table for table in sizes}
    return PeriodForecast(
        _arrivals(figures, options, {name: described["oid"] for name, described in tables.items()}),
        weights_from(figures["weights"]),
        goal_of(options),
        options.get("TRIGGER", "on demand") == "on demand",
        {int(subplan): correction for subplan, correction in figures["corrections"].items()},
        {int(subplan): weights_from(weights) for subplan, weights in figures["own_weights"].items()},
    )


def _arrivals(
    figures: Mapping[str, Any], options: Mapping[str, Any], oids: Mapping[TableName, int]
) -> Mapping[TableName, Arrivals]:
    """The rows that EXPECT states, or more that the coordinator expects; else as many as came so far."""
    kept = {int(oid): float(rows) for oid, rows in figures["expected"].items()}
    known = kept or dict(_forecast(figures, options, oids))
    kinds = _kinds(figures, oids)
    for name, rows in rows_expected(options.get("EXPECT"), oids).items():
        known[oids[name]] = max(changed_rows(stated(kinds[name], rows)), kept.get(oids[name], 0.0))
    return {name: scaled(kinds[name], known.get(oid, 0.0)) for name, oid in oids.items()}


def _kinds(figures: Mapping[str, Any], oids: Mapping[TableName, int]) -> Mapping[TableName, Arrivals]:
    """The proportions of inserts, updates and deletes among the changes that came so far."""
    arrived: dict[int, list[Sequence[float]]] = {oid: [] for oid in oids.values()}
    for oid, _hour, *counts in figures["history"]:
        arrived[oid].append(counts)
    return {
        name: kind_of(*map(sum, zip((0.0, 0.0, 0.0), *arrived[oid], strict=True)))
        for name, oid in oids.items()
    }


def _forecast(
    figures: Mapping[str, Any], options: Mapping[str, Any], oids: Mapping[TableName, int]
) -> Mapping[int, float]:
    """The rows expected of each table in a period that begins now."""
    rows: dict[int, dict[datetime, int]] = {oid: {} for oid in oids.values()}
    for oid, hour, count, *_kinds in figures["history"]:
        rows[oid][datetime.fromtimestamp(hour, UTC)] = count
    seen = [hour for hours in rows.values() for hour in hours]
    if not seen:
        return {}
    now, since = datetime.fromtimestamp(figures["now"], UTC), min(seen)
    history = History(rows, since, now, [now])
    return forecast(options.get("TRIGGER", "on demand"), history, ZoneInfo(figures["zone"])) or {}
