"""What bursts do: paces are chosen for rows that come evenly, and many come at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.periods.goals import GAVIAL, UNIFORM, Turn
from benchmarks.periods.learning import Learner
from benchmarks.periods.queries import STEPS
from benchmarks.support.measure import Reading

SPIKES: Final = (1, 3, 5)
"""A tenth of the period brings so many times the rows of any other tenth."""


def burst_readings(learner: Learner, goal: float, turns: int, longest: float) -> Iterator[Reading]:
    """Two ways at one goal, the burst in the middle of the period and at its end."""
    for number in range(turns):
        turn = Turn(learner, number, longest)
        for spike in SPIKES:
            for place, ahead in (("in the middle", 0.5), ("at the end", 1.0)):
                case = f"{learner.name} x{spike} {place}"
                for way in (UNIFORM, GAVIAL):
                    yield from turn.reading(case, way, goal, moments=moments(spike, ahead))


def moments(spike: int, ahead: float) -> tuple[int, ...]:
    """Up to which step the log has come whenever somebody looks: nobody does while the burst comes.

    `ahead` of the other rows come before it, but one step is left after it.
    """
    burst = round(STEPS * spike / (9 + spike)) if spike > 1 else 1
    before = min(round((STEPS - burst) * ahead), STEPS - burst - 1)
    return tuple(step for step in range(1, STEPS + 1) if not before < step < before + burst)
