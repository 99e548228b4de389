"""Divides a memory budget among queries: to whom each byte saves most."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from planner.state.frontier import Frontier, Point

Query = TypeVar("Query", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a query could do with every budget, and the most that it may have."""

    frontier: Frontier
    most: float


def divided(budget: float, wishes: Mapping[Query, Wish]) -> Mapping[Query, int]:
    """The bytes that each query gets: step by step to the one that saves most for each byte."""
    granted = dict.fromkeys(wishes, 0)
    costs = {query: _cost(wish.frontier, 0) for query, wish in wishes.items()}
    while True:
        free = budget - sum(granted.values())
        steps = [
            (point, query)
            for query, wish in wishes.items()
            for point in wish.frontier.points
            if granted[query] < point.bytes <= min(wish.most, granted[query] + free)
        ]
        if not steps:
            return granted
        point, query = max(steps, key=lambda step: _benefit(step[0], granted[step[1]], costs[step[1]]))
        granted[query], costs[query] = point.bytes, point.cost


def _benefit(point: Point, bytes: int, cost: float) -> float:
    """What each further byte saves."""
    return (cost - point.cost) / (point.bytes - bytes)


def _cost(frontier: Frontier, budget: float) -> float:
    point = frontier.at(budget)
    assert point is not None, "nothing has to be kept"
    return point.cost
