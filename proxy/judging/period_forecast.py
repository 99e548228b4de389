"""What keeping a query would cost, from the figures that its database sends: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from catalog.capture.arrivals import KnownArrivals
from catalog.postgres.schema import TableName
from catalog.queries.measurements import KnownEngine
from catalog.queries.paces import Period
from coordinator.planning.costs import as_known, own_weights_from, weights_by_engine
from coordinator.planning.expected_rows import expected_arrivals, kinds_of, stated_rows
from coordinator.planning.planning import Maintainable
from coordinator.planning.query_states import budget_of, complete_tables
from planner.algebra.statistics import Statistics
from planner.cost.engines import Choice, Costs, EngineLimits, OwnWeights, most_kept
from planner.cost.weights import Weights
from planner.delta.weighted import DeltaPlan
from planner.explain.measured_work import MeasuredWork, Took
from planner.pace.choose import at_paces, limit_of, scheduled, simulated
from planner.pace.knobs import knobs_of
from planner.pace.paths import Path, paths
from planner.pace.schedule import Arrivals, Goal, PathPlan, Schedule, goal_of, is_wish
from planner.pace.scratch import scratch_choices
from planner.pace.simulation import Corrections
from planner.state.choose import StateChoice, options
from planner.state.keepable import with_news
from planner.state.together import Known, recomputing, together

KeptPaces: TypeAlias = Mapping[str, Any]
"""The pace, incrementability and reason of each path of a plan, by its number."""

_STATED: Final = "as EXPECT says"
_MORE: Final = "as more arrived than EXPECT says"
_SEEN: Final = "as the coordinator expects"
_FORECAST: Final = "as forecast from what arrived before"
_UNKNOWN: Final = "of which nothing is known"

_NOTHING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Foreseen:
    """How often the parts of a query run, if it is known how many rows arrive, and what is kept for it."""

    schedule: Schedule | None
    states: StateChoice


@dataclass(frozen=True, slots=True)
class PeriodForecast:
    """A period of the query: what comes, and what work takes.

    `sources`: where what is known of arrivals comes from, in words.
    `budget`: the bytes that it may keep; `complete`: the tables that bring nothing any more.
    The corrections, the weights of single subplans and the work from scratch are those of the plan that is
    kept.
    """

    arrivals: Mapping[TableName, Arrivals]
    sources: Mapping[TableName, str]
    engines: tuple[EngineLimits, ...]
    weights: Mapping[str, Weights]
    goal: Goal
    on_demand: bool
    corrections: Corrections
    own: OwnWeights
    recompute_work: float | None
    budget: float
    complete: frozenset[TableName]

    def foreseen(
        self,
        maintainable: Maintainable,
        statistics: Statistics,
        kept: KeptPaces | None,
        *,
        to_the_end: bool,
    ) -> Foreseen:
        """What it keeps, and how often its parts run; no schedule where it is not known how many rows arrive.

        `kept`: those of the plan, if it is the one that the query is computed by. Others are searched for.
        """
        plan = maintainable.planned.delta
        is_kept = kept is not None
        corrections, own = (self.corrections, self.own) if is_kept else ({}, {})
        costs = replace(self.costs, own=own)
        simulation = simulated(plan, statistics, self.arrivals, costs, corrections)
        if not any(arrival.changed for arrival in self.arrivals.values()):
            news = with_news(simulation, self.complete)
            every = options(news, (1,) * len(news.paths), {}, recomputing(simulation, self.goal, None))
            return Foreseen(None, every.within(self.budget))
        knobs = knobs_of(self.goal.paces, simulation)
        recompute = self.recompute_work if is_kept else None
        foreseen = together(
            simulation,
            Known(self.complete, {}),
            lambda _: self.budget,
            lambda period: scheduled(
                period, self.goal, knobs, to_the_end=to_the_end, recompute_work=recompute
            ),
            self.goal,
            recompute,
        )
        chosen = None if kept is None else kept_paths(plan, kept)
        if chosen is None:
            return Foreseen(foreseen.schedule, foreseen.states)
        return Foreseen(at_paces(foreseen.schedule, foreseen.simulation, chosen), foreseen.states)

    def from_scratch(self, maintainable: Maintainable, statistics: Statistics) -> tuple[Choice, ...]:
        """The engine, and the work, of computing each part from all rows that the tables have now."""
        return scratch_choices(simulated(maintainable.planned.delta, statistics, {}, self.costs))

    @property
    def costs(self) -> Costs:
        """What runs cost in this installation."""
        return Costs(self.engines, self.weights)

    @property
    def is_wish(self) -> bool:
        """Whether less is to be left for the trigger than all."""
        return is_wish(self.goal)

    def is_met(self, schedule: Schedule) -> bool:
        """Whether the schedule leaves as little for the trigger as was asked for."""
        return schedule.final_work <= limit_of(self.goal, schedule.batch_work, self.costs) + _NOTHING


def kept_paths(plan: DeltaPlan, kept: KeptPaces) -> tuple[PathPlan, ...] | None:
    """The paths with the paces that are kept; None where none have been chosen yet."""
    every = paths(plan)
    if any(str(number) not in kept for number in range(len(every))):
        return None
    return tuple(_kept_path(path, **kept[str(number)]) for number, path in enumerate(every))


def _kept_path(path: Path, pace: int, incrementability: float | str | None, reason: str) -> PathPlan:
    """The plan of a path as it is kept; JSON has no infinity, which PostgreSQL gives as a string."""
    return PathPlan(path, pace, None if incrementability is None else float(incrementability), reason)


def read_period_forecast(
    figures: Mapping[str, Any],
    sizes: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    engines: Sequence[EngineLimits],
) -> PeriodForecast:
    """The forecast, from what `gavial.figures` and `gavial.sizes` give, and the options of the query.

    `engines`: those that can compute its plan here.
    """
    known = [KnownEngine(**engine) for engine in figures["engines"]]
    tables = {TableName(table["schema"], table["name"]): table for table in sizes}
    oids = {name: described["oid"] for name, described in tables.items()}
    arrivals = _arrivals(figures, options, oids)
    return PeriodForecast(
        arrivals=arrivals,
        sources=_sources(figures, options, oids, arrivals),
        engines=as_known(engines, known),
        weights=weights_by_engine(known),
        goal=goal_of(options),
        on_demand=options.get("TRIGGER", "on demand") == "on demand",
        corrections={int(subplan): correction for subplan, correction in figures["corrections"].items()},
        own=own_weights_from(figures["own_weights"]),
        recompute_work=figures["recompute_work"],
        budget=min(budget_of(options), most_kept(engines)),
        complete=complete_tables(oids, options, KnownArrivals.of(figures["arrivals"])),
    )


def measured_from(figures: Mapping[str, Any]) -> MeasuredWork:
    """What parts of a query took, from what `gavial.figures` gives."""
    took = figures["measured"]
    from_scratch = took["from_scratch"]
    return MeasuredWork(
        {int(subplan): Took(**figures) for subplan, figures in took["subplans"].items()},
        None if from_scratch is None else Took(**from_scratch),
    )


def _arrivals(
    figures: Mapping[str, Any], options: Mapping[str, Any], oids: Mapping[TableName, int]
) -> Mapping[TableName, Arrivals]:
    """The rows that the coordinator expects, or EXPECT states if that is more; else those of the forecast.

    The forecast for a query that has published nothing is that of a period which begins now.
    """
    known = KnownArrivals.of(figures["arrivals"])
    kept = {int(oid): float(rows) for oid, rows in figures["expected"].items()}
    if not kept:
        known = replace(known, fired=known.fired or [known.now])
        return expected_arrivals(oids, options, figures["zone"], known, Period({}, {}))
    kinds = kinds_of(known, oids.values())
    stated = stated_rows(oids, options, kinds)
    rows = {oid: max(kept.get(oid, 0.0), stated.get(oid, 0.0)) for oid in oids.values()}
    return {name: kinds[oid].scaled(rows[oid]) for name, oid in oids.items()}


def _sources(
    figures: Mapping[str, Any],
    options: Mapping[str, Any],
    oids: Mapping[TableName, int],
    arrivals: Mapping[TableName, Arrivals],
) -> Mapping[TableName, str]:
    """Where what is expected of each table comes from."""
    kept = {int(oid): float(rows) for oid, rows in figures["expected"].items()}
    stated = stated_rows(oids, options, kinds_of(KnownArrivals.of(figures["arrivals"]), oids.values()))
    return {
        name: _source(kept.get(oid), stated.get(oid), is_forecast=arrivals[name].changed > 0)
        for name, oid in oids.items()
    }


def _source(kept: float | None, stated: float | None, *, is_forecast: bool) -> str:
    if stated is not None:
        return _STATED if kept is None or kept <= stated else _MORE
    if kept is not None:
        return _SEEN
    return _FORECAST if is_forecast else _UNKNOWN
