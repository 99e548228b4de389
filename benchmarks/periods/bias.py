"""What wrong estimates do: the rows of every subplan are believed to be so many times what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.periods.goals import GAVIAL, UNIFORM, Turn
from benchmarks.periods.learning import Learner
from benchmarks.support.measure import Reading

BIASES: Final = (0.2, 0.5, 1.0, 2.0, 5.0)


def bias_readings(learner: Learner, goal: float, turns: int, longest: float) -> Iterator[Reading]:
    """Two ways at one goal under each bias."""
    for number in range(turns):
        turn = Turn(learner, number, longest)
        for bias in BIASES:
            for way in (UNIFORM, GAVIAL):
                yield from turn.reading(f"{learner.name} bias {bias:g}", way, goal, learner.period(bias))
