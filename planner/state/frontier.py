"""The least cost for every budget: a function that falls in steps, as its steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.firing.states import State

MOST_POINTS: Final = 512
"""More steps than these are thinned out: what is left are choices as they were, with their own bytes."""


@dataclass(frozen=True, slots=True)
class Point:
    """A choice: the bytes that it needs, what it costs, and the states that it keeps."""

    bytes: int
    cost: float
    keeps: frozenset[State] = frozenset()


@dataclass(frozen=True, slots=True)
class Frontier:
    """Choices by rising bytes and falling costs: with a budget, the last of those that fit is the best."""

    points: tuple[Point, ...]

    @staticmethod
    def of(points: Iterable[Point]) -> Frontier:
        """The choices for which no other one is as cheap and as small."""
        best: list[Point] = []
        for point in sorted(points, key=lambda point: (point.bytes, point.cost)):
            if not best or point.cost < best[-1].cost:
                best.append(point)
        return Frontier(_thinned(best))

    def at(self, budget: float) -> Point | None:
        """The cheapest choice within so many bytes; None where none fits."""
        place = bisect_right(self.points, budget, key=lambda point: point.bytes)
        return self.points[place - 1] if place else None

    def beside(self, other: Frontier) -> Frontier:
        """The choices of both together, within the bytes of both: every split of a budget is looked at."""
        if not self.points or not other.points:
            return Frontier(())
        ones, others = self.points, other.points
        sizes = np.add.outer([point.bytes for point in ones], [point.bytes for point in others]).ravel()
        costs = np.add.outer([point.cost for point in ones], [point.cost for point in others]).ravel()
        order = np.lexsort((costs, sizes))
        least = np.minimum.accumulate(costs[order])
        is_better = np.concatenate(([True], least[1:] < least[:-1]))
        pairs = (divmod(int(place), len(others)) for place in order[is_better])
        return Frontier(_thinned([_together(ones[one], others[another]) for one, another in pairs]))

    def above(self, bytes: int, cost: float, keeps: frozenset[State]) -> Frontier:
        """The same choices with more to keep and to pay."""
        return Frontier(
            tuple(Point(point.bytes + bytes, point.cost + cost, point.keeps | keeps) for point in self.points)
        )


FREE: Final = Frontier((Point(0, 0.0),))
"""Where there is nothing to choose, and nothing to pay."""


def _together(one: Point, other: Point) -> Point:
    return Point(one.bytes + other.bytes, one.cost + other.cost, one.keeps | other.keeps)


def _thinned(points: list[Point]) -> tuple[Point, ...]:
    """At most so many of the points, first and last among them, spread evenly over costs."""
    if len(points) <= MOST_POINTS:
        return tuple(points)
    costs = np.array([-point.cost for point in points])
    wanted = np.linspace(costs[0], costs[-1], MOST_POINTS)
    return tuple(points[place] for place in np.unique(np.searchsorted(costs, wanted)))
