"""The operators of a delta plan, with what their actions cost in a period, by the cost model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

import numpy as np

from planner.cost.constants import LEAST
from planner.cost.row_counts import Vector
from planner.firing.states import Lookup, State
from planner.pace.scratch import scratch_choices
from planner.pace.simulation import Pacing, Simulation
from planner.state.keepable import Keepable
from planner.state.operator import Action, Emission, Operator, Output

ARRANGED: Final = 0.6e-6
"""Seconds of a processor for a row that is arranged by a key: 3.8 s were measured for six million rows."""

PERIODS: Final = 100.0
"""A state that has to be built is taken to serve so many periods."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a state saves in a period, and what it takes to keep it up and, in part, to build it."""

    saves: float
    upkeep: float

    @property
    def is_used(self) -> bool:
        """Whether anything that is expected looks it up."""
        return self.saves > 0.0


@dataclass(frozen=True, slots=True)
class Priced:
    """The operator that gives the result, and the worth of each state by itself."""

    root: Operator
    worth: Mapping[State, Worth]


def priced(
    simulation: Simulation, paces: Pacing, states: tuple[Keepable, ...], recompute_work: float | None = None
) -> Priced:
    """The operators of the plan in a period with these paces.

    A subplan emits its change with the look-ups of its states, or by scanning them all; or the query computes
    everything from scratch, for which nothing is kept: that takes `recompute_work`, without it what the model
    says, and is not done where it is infinite. A state that several subplans look up stands beside the
    result, so that it is paid once.
    """
    works = _works(simulation, paces, ())
    saves = {one.state: _saved(simulation, paces, works, [one]) for one in states}
    changed = _changed(simulation, paces)
    worth = {
        one.state: Worth(
            float(saves[one.state].sum()),
            ARRANGED * (changed[one.state.buffer] + (0.0 if one.is_measured else one.rows / PERIODS)),
        )
        for one in states
    }
    shared = [one for one in states if len(one.uses.by) > 1]
    contents = {one.state: _content(one, worth[one.state]) for one in states}
    below: dict[int, Operator] = {}
    scratch = np.array([choice.work for choice in scratch_choices(simulation)])
    recomputes = recompute_work is None or isfinite(recompute_work)
    if recompute_work is not None and recomputes:
        scratch = scratch * (recompute_work / max(float(scratch.sum()), LEAST))
    for place, subplan in enumerate(simulation.plan.subplans):
        own = [one for one in states if one.uses.by == {subplan.writes}]
        inputs = tuple(below.pop(buffer) for buffer in subplan.reads if buffer in below)
        scanning = works[place] + _saved(simulation, paces, works, own)[place]
        actions = _actions(float(works[place]), float(scanning), float(scratch[place]), len(inputs), len(own))
        operands = (*inputs, *(contents[one.state] for one in own))
        below[subplan.writes] = Operator(f"subplan {subplan.writes}", actions, operands)
    return Priced(_root(tuple(below.values()), [contents[one.state] for one in shared], recomputes), worth)


def _root(results: tuple[Operator, ...], shared: list[Operator], recomputes: bool) -> Operator:
    """What gives the result: by changes, or from scratch, whichever is cheaper in all."""
    subplans, contents = (Output.CHANGE,) * len(results), (Output.CHANGE,) * len(shared)
    actions = [Action(0, {Output.CHANGE: Emission(0.0, (*subplans, *contents))})]
    if recomputes:
        everything = (Output.EVERYTHING,) * len(results)
        actions.append(Action(0, {Output.CHANGE: Emission(0.0, (*everything, *(None for _ in shared)))}))
    return Operator("result", tuple(actions), (*results, *shared))


def _actions(
    looking_up: float, scanning: float, scratch: float, subplans: int, contents: int
) -> tuple[Action, ...]:
    """A subplan's: to look its states up, to do without them, and to compute everything from scratch."""
    changes, everything = (Output.CHANGE,) * subplans, (Output.EVERYTHING,) * subplans
    nothing = (None,) * contents
    by_key = Emission(looking_up, (*changes, *(Output.CHANGE,) * contents))
    by_scan = Emission(scanning, (*changes, *nothing))
    return (
        Action(0, {Output.CHANGE: by_key}),
        Action(0, {Output.CHANGE: by_scan, Output.EVERYTHING: Emission(scratch, (*everything, *nothing))}),
    )


def _content(one: Keepable, worth: Worth) -> Operator:
    """A content that is looked up: kept by its key, or scanned for each look-up."""
    keep = Action(one.bytes, {Output.CHANGE: Emission(worth.upkeep)}, frozenset((one.state,)))
    drop = Action(0, {Output.CHANGE: Emission(worth.saves)})
    return Operator(f"state {one.state}", (keep, drop))


def _saved(simulation: Simulation, paces: Pacing, works: Vector, states: Iterable[Keepable]) -> Vector:
    """What it saves each subplan that these states are kept."""
    saved: Vector = np.maximum(_works(simulation, paces, states) - works, 0.0)
    return saved


def _works(simulation: Simulation, paces: Pacing, without: Iterable[Keepable]) -> Vector:
    """The work of each subplan in the period where these states are not kept."""
    scanned: frozenset[Lookup] = frozenset(lookup for one in without for lookup in one.uses.lookups)
    simulated = replace(simulation, scanned=scanned).simulate(paces)
    return np.array([subplan.works.sum() for subplan in simulated.subplans])


def _changed(simulation: Simulation, paces: Pacing) -> Mapping[int, float]:
    """The changed rows of each buffer in the period."""
    simulated = simulation.simulate(paces).subplans
    changed = {buffer: arrivals.changed for buffer, arrivals in simulation.arrivals.items()}
    for subplan, outcome in zip(simulation.plan.subplans, simulated, strict=True):
        changed[subplan.writes] = float(outcome.written.changes.gross[-1])
    return changed
