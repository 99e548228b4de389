"""Explains the outcome of a search: the pace of each path, and why it is no greater."""

from __future__ import annotations

from typing import Final

from planner.delta.weighted import NodeBuffer
from planner.pace.paths import Path
from planner.pace.schedule import PathPlan
from planner.pace.search import Raise, Search
from planner.pace.simulation import Pacing, Simulation

IDLE: Final = "nothing is expected to come"
FORCED: Final = "forced to the pace of others"
MET: Final = "the goal is met"
TOP: Final = "no greater pace is allowed"
FED_ONCE: Final = "its input arrives in one run"
FED: Final = "its input does not come more often"
DECLINED: Final = "not incrementable: more runs leave no less work"
LITTLE: Final = "what more runs save is not worth their cost"


def path_plans(
    simulation: Simulation, search: Search, steps: tuple[Raise, ...], chosen: Raise, limit: float
) -> tuple[PathPlan, ...]:
    """Every path with its pace and the reason for it, from the tables to the result."""
    paces = search.knobs.paces(chosen.settings)
    worth = _worth(search, steps, chosen)
    is_met = chosen.outcome.final <= limit
    idle = simulation.idle

    def reason(place: int, path: Path) -> str:
        if path in idle:
            return IDLE
        if place not in search.knobs.leads:
            return FORCED
        if paces[place] >= search.levels[-1]:
            return TOP
        fed = _fed(simulation, paces, path)
        if fed is not None and fed <= paces[place]:
            return FED_ONCE if fed == 1 else FED
        if worth.get(place, 1.0) <= 0.0:
            return DECLINED
        return MET if is_met else LITTLE

    return tuple(
        PathPlan(path, paces[place], worth.get(place), reason(place, path))
        for place, path in enumerate(simulation.paths)
    )


def _worth(search: Search, steps: tuple[Raise, ...], chosen: Raise) -> dict[int, float]:
    """The incrementability of each path: of its last raise, or of the first one that was declined."""
    leads = search.knobs.leads
    moves = search.knobs.moves
    worth = {
        leads[moves[move][0]]: raise_.incrementability
        for move, raise_ in search.declined.items()
        if len(moves[move]) == 1
    }
    for step in steps[1:]:
        worth |= {leads[knob]: step.incrementability for knob in step.turned if chosen.settings[knob] > 1}
    return worth


def _fed(simulation: Simulation, paces: Pacing, path: Path) -> int | None:
    """The greatest pace of the paths that write what the path reads; None of a table."""
    if not isinstance(simulation.plan.buffers[path.reads], NodeBuffer):
        return None
    below = (paces[place] for place, other in enumerate(simulation.paths) if other.writes == path.reads)
    return max(below, default=1)
