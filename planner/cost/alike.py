"""How runs that were alike compared with what was expected of them, as a factor for the next one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log
from typing import Final

_NEAR: Final = log(2.0)
"""Of an expectation that is twice as large a fourth is believed, of one four times as large a 25th."""

_HALF: Final = 8.0
"""Of what is so many runs ago half is believed."""

_DOUBT: Final = 0.3
"""One outcome alone moves an expectation by the power of 1 / 1.3, two by that of 2 / 2.3."""

_MIDDLE: Final = 0.45
"""A little below the middle: of two outcomes that count about the same the smaller one is believed, since
what a process does for the first time only takes longer."""

_MOST: Final = 10.0
"""No expectation of work is changed by a greater factor, whatever it was."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was expected of a run and what it actually was, so many runs ago."""

    expected: float
    actual: float
    age: int = 0


def factor(past: Iterable[Comparison], expected: float, most: float = _MOST) -> float:
    """How many times as much as expected is likely, at `most`: the weighted median of earlier ones.

    Each counts by how lately it was and how near its expectation was to this one.
    """
    if expected <= 0.0:
        return 1.0
    logarithms = sorted(
        (log(one.actual / one.expected), _belief(one, expected))
        for one in past
        if one.actual > 0.0 and one.expected > 0.0
    )
    total = sum(belief for _, belief in logarithms)
    passed = 0.0
    for logarithm, belief in logarithms:
        passed += belief
        if passed >= _MIDDLE * total:
            return min(max(exp(logarithm * total / (total + _DOUBT)), 1.0 / most), most)
    return 1.0


def _belief(one: Comparison, expected: float) -> float:
    distance = log(expected / one.expected) / _NEAR
    return float(0.5 ** (one.age / _HALF) / (1.0 + distance**2) ** 2)
