"""States and paces of a period, decided together: each is what the other one costs least with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

from catalog.postgres.schema import TableName
from planner.firing.states import State
from planner.pace.schedule import Goal, Schedule, is_wish
from planner.pace.simulation import Pacing, Simulation
from planner.state.choose import Options, StateChoice, options
from planner.state.keepable import with_news

Budget: TypeAlias = Callable[[Options], float]
"""The bytes that a query may keep, by what it could do with them."""


@dataclass(frozen=True, slots=True)
class Known:
    """Which tables bring nothing any more, and the bytes of the states that are kept."""

    complete: frozenset[TableName]
    measured: Mapping[State, int]


@dataclass(frozen=True, slots=True)
class Together:
    """A period under the states that the budget leaves, its schedule, and all that states are chosen from."""

    simulation: Simulation
    schedule: Schedule
    options: Options
    states: StateChoice


def recomputing(simulation: Simulation, goal: Goal, work: float | None) -> float | None:
    """What computing everything from scratch takes (None: as the model says) in place of keeping states.

    It is infinite where no run does that, where early runs are wished for, which leave little for the
    trigger, and where it is a guess what comes: fewer rows would be worked by their states alone.
    """
    is_known = any(arriving.changed for arriving in simulation.arrivals.values())
    return work if goal.recomputes and is_known and not is_wish(goal) else inf


def together(
    simulation: Simulation,
    known: Known,
    budget: Budget,
    search: Callable[[Simulation], Schedule],
    goal: Goal,
    recompute_work: float | None,
) -> Together:
    """The states for one run, the schedule under these, and the states for the paces of that.

    Where these are others, there is another schedule under them; what would follow from that changes little.
    """

    recompute = recomputing(simulation, goal, recompute_work)

    def chosen(paces: Pacing) -> tuple[Options, StateChoice]:
        every = options(with_news(simulation, known.complete), paces, known.measured, recompute)
        return every, every.within(budget(every))

    every, states = chosen((1,) * len(simulation.paths))
    period = replace(simulation, scanned=states.scanned)
    schedule = search(period)
    if every.states and any(path.pace > 1 for path in schedule.paths):
        scanned = states.scanned
        every, states = chosen(tuple(path.pace for path in schedule.paths))
        if states.scanned != scanned:
            period = replace(simulation, scanned=states.scanned)
            schedule = search(period)
    return Together(period, schedule, every, states)
