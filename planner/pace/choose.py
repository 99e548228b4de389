"""Chooses how often each path is run in a period: with the least total work that leaves little enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice, pairwise
from math import inf
from types import MappingProxyType
from typing import Final

from catalog.postgres.schema import TableName
from planner.algebra.statistics import Statistics
from planner.cost.engines import Costs
from planner.delta.weighted import DeltaPlan, TableBuffer
from planner.pace.cap import affordable, knee, recomputed_last, within
from planner.pace.knobs import whole_knob
from planner.pace.paths import Path
from planner.pace.reasons import path_plans
from planner.pace.schedule import Arrivals, Goal, PathPlan, Point, Schedule, SubplanPlan
from planner.pace.scratch import scratch_run
from planner.pace.search import Knobs, Raise, Search, levels
from planner.pace.simulation import Corrections, SimulatedRuns, Simulation, simulation
from planner.pace.trim import trimmed

MOST_EFFORT: Final = 60_000
"""The operators that one search may simulate: about a second of a core."""

_NONE: Final = Arrivals(0.0)
_UNCORRECTED: Final[Corrections] = MappingProxyType[int, float]({})


def simulated(
    plan: DeltaPlan,
    statistics: Statistics,
    arrivals: Mapping[TableName, Arrivals],
    costs: Costs,
    corrections: Corrections = _UNCORRECTED,
    kinds: Mapping[TableName, Arrivals] | None = None,
) -> Simulation:
    """The simulation of the period; nothing is expected of a table that is not named.

    `kinds`: what kinds of changes come to each table, however few; by default those that are expected.
    """
    tables = [buffer for buffer in plan.buffers if isinstance(buffer, TableBuffer)]
    coming = {table.number: arrivals.get(table.table, _NONE) for table in tables}
    of_kind = {} if kinds is None else {table.number: kinds.get(table.table, _NONE) for table in tables}
    return simulation(plan, statistics, coming, costs, corrections, {**coming, **of_kind})


def scheduled(
    period: Simulation,
    goal: Goal,
    knobs: Knobs,
    *,
    to_the_end: bool = False,
    recompute_work: float | None = None,
) -> Schedule:
    """The schedule that the search finds with these knobs, or with one knob where that would take long.

    `recompute_work`: what computing everything from scratch takes; without it as the model says. Where a run
    may do that, the last one takes no more, and the batch is the cheaper way of computing everything.
    """
    recompute = scratch_run(period).work if recompute_work is None else recompute_work
    most_final = recompute if goal.recomputes else inf
    effort = period.effort + MOST_EFFORT
    search = Search(period.simulate, knobs, levels(goal.max_pace), lambda: period.effort >= effort)
    batch = min(period.simulate((1,) * len(period.paths)).final, most_final)
    limit, most = limit_of(goal, batch, period.costs), goal.max_cost * batch
    raises = search.steps(0.0 if to_the_end else limit)
    if batch <= limit and not to_the_end:
        raises = islice(raises, 1)
    steps = recomputed_last(tuple(raises if to_the_end else within(raises, most)), most_final)
    if search.is_over() and steps[-1].outcome.final > limit and len(knobs.leads) > 1:
        knobs = whole_knob(period.paths)
        return scheduled(period, goal, knobs, to_the_end=to_the_end, recompute_work=recompute)
    capped = affordable(steps, most)
    least = min(step.outcome.final for step in capped)
    meeting_goal = next((step for step in steps if step.outcome.final <= limit), None)
    chosen = knee(capped) if meeting_goal is None else trimmed(search, meeting_goal, limit)
    if chosen is not steps[0] and chosen.outcome.total > most:
        meeting_goal, chosen = None, knee(capped)
    place = steps.index(chosen if meeting_goal is None else meeting_goal)
    chosen_schedule = Schedule(
        goal,
        path_plans(period, search, steps[: place + 1], chosen, limit),
        _subplan_plans(period, chosen.outcome),
        final_work=chosen.outcome.final,
        total_work=chosen.outcome.total,
        batch_work=batch,
        recompute_work=recompute,
        reachable=min(least, chosen.outcome.final) / batch if batch else 1.0,
        curve=tuple(_point(*pair, period.paths, knobs) for pair in pairwise((steps[0], *steps))),
    )
    period.forget()
    return chosen_schedule


def at_paces(schedule: Schedule, period: Simulation, paths: tuple[PathPlan, ...]) -> Schedule:
    """The schedule of the same period at other paces: those that are kept."""
    outcome = period.simulate(tuple(path.pace for path in paths))
    if schedule.goal.recomputes:
        outcome = outcome.at_most(schedule.recompute_work)
    final = outcome.final
    share = final / schedule.batch_work if schedule.batch_work else 1.0
    kept = replace(
        schedule,
        paths=paths,
        subplans=_subplan_plans(period, outcome),
        final_work=final,
        total_work=outcome.total,
        reachable=min(schedule.reachable, share),
    )
    period.forget()
    return kept


def _subplan_plans(period: Simulation, outcome: SimulatedRuns) -> tuple[SubplanPlan, ...]:
    names = [engine.name for engine in period.costs.engines]
    return tuple(
        SubplanPlan(
            subplan.writes,
            tuple(simulated.works.tolist()),
            tuple(names[place] for place in simulated.engines),
            period.costs.choice(subplan.writes, simulated.features.last).reason,
        )
        for subplan, simulated in zip(period.plan.subplans, outcome.subplans, strict=True)
    )


def limit_of(goal: Goal, batch: float, costs: Costs) -> float:
    """The most work that may be left: a share of the batch's, or what nine times in ten takes no longer."""
    return goal.final_work * batch if goal.seconds is None else goal.seconds / costs.latency


def _point(before: Raise, step: Raise, paths: tuple[Path, ...], knobs: Knobs) -> Point:
    paces = zip(paths, knobs.paces(before.settings), knobs.paces(step.settings), strict=True)
    raised = tuple(path for path, old, new in paces if new > old)
    pace = step.settings[step.turned[0]] if step.turned else 1
    return Point(step.outcome.final, step.outcome.total, raised, pace)
