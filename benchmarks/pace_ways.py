"""Other ways to choose paces, to compare the planner's search with: all of them, and some at random."""

from __future__ import annotations

import itertools
import random
import time
from math import inf

from planner.pace.search import Knobs
from planner.pace.simulation import Simulation


def exhaustive(period: Simulation, knobs: Knobs, limit: float, most: int) -> float:
    """The least total work of all paces up to the most that leave no more than the limit."""
    settings = itertools.product(range(1, most + 1), repeat=len(knobs.leads))
    return min((_total(period, knobs, setting, limit) for setting in settings), default=inf)


def sampled(
    period: Simulation, knobs: Knobs, limit: float, most: int, seconds: float, choice: random.Random
) -> float:
    """The least that random paces come to in so much time of the processor; infinite if none is within."""
    best, ends = inf, time.process_time() + seconds
    while time.process_time() < ends:
        settings = tuple(choice.randint(1, most) for _ in knobs.leads)
        best = min(best, _total(period, knobs, settings, limit))
    return best


def _total(period: Simulation, knobs: Knobs, settings: tuple[int, ...], limit: float) -> float:
    if not knobs.allowed(settings):
        return inf
    outcome = period.simulate(knobs.paces(settings))
    return outcome.total if outcome.final <= limit else inf
