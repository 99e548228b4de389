"""What every benchmark shares: readings taken in turns, their medians and spread, their targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one way of doing a case showed in one turn; each figure's name carries its unit."""

    case: str
    way: str
    turn: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of a figure over the turns, with its lowest and its highest value."""

    median: float
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for a figure of one way, or, with `against`, for its ratio to the figure of another way."""

    case: str
    figure: str
    way: str
    against: str | None
    kind: Literal["at least", "at most"]
    bound: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target and what was measured for it; `measured` is None when no turn gave a ratio."""

    target: Target
    measured: Spread | None
    met: bool


def take_turns(case: str, ways: Mapping[str, Callable[[int], Figures]], turns: int) -> tuple[Reading, ...]:
    """Measure the ways one after another, as often as there are turns: A B C A B C ..."""
    return tuple(
        Reading(case, way, turn, measure(turn)) for turn in range(turns) for way, measure in ways.items()
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Median, lowest and highest of the values; None when there are none."""
    ordered = sorted(values)
    return Spread(median(ordered), ordered[0], ordered[-1]) if ordered else None


def by_turn(readings: Iterable[Reading], case: str, way: str, figure: str) -> dict[int, float]:
    """The values of a figure, by turn; turns in which the way has no such figure are left out."""
    return {
        reading.turn: reading.figures[figure]
        for reading in readings
        if reading.case == case and reading.way == way and figure in reading.figures
    }


def ratio(readings: Iterable[Reading], case: str, figure: str, way: str, against: str) -> Spread | None:
    """The spread of way / against, turn by turn; a divisor that is not positive makes no ratio."""
    kept = tuple(readings)
    divisors = by_turn(kept, case, against, figure)
    return spread(
        value / divisors[turn]
        for turn, value in by_turn(kept, case, way, figure).items()
        if divisors.get(turn, 0.0) > 0.0
    )


def judge(target: Target, readings: Iterable[Reading]) -> Verdict:
    """Compare the median of the target's figure, or of its ratio, with the bound."""
    match target.against:
        case None:
            measured = spread(by_turn(readings, target.case, target.way, target.figure).values())
        case against:
            measured = ratio(readings, target.case, target.figure, target.way, against)
    if measured is None:
        return Verdict(target, None, met=False)
    match target.kind:
        case "at least":
            return Verdict(target, measured, met=measured.median >= target.bound)
        case "at most":
            return Verdict(target, measured, met=measured.median <= target.bound)
