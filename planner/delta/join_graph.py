"""The graph of an inner join: which inputs its conditions connect, and how many partners rows have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from dialect.expressions.scalar import Scalar
from planner.algebra.columns import references
from planner.delta.foreign_keys import equal_pairs

Columns: TypeAlias = frozenset[int]
Places: TypeAlias = frozenset[int]
"""Inputs of the join, by their place among them."""

_NONE: Final[frozenset[int]] = frozenset()


class Growth(IntEnum):
    """How many pairs another input may make of the joined rows, from few to many."""

    ONE_FOR_EACH = 0  # at most one for each joined row, by a key of the other input
    ONE_FOR_EACH_FURTHER = 1  # at most one for each row of the other input, by a key of the joined rows
    SOME = 2  # any number, under a condition
    ALL = 3


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition, and the inputs whose columns it reads."""

    condition: Scalar
    places: Places


@dataclass(frozen=True, slots=True)
class JoinGraph:
    """Facts about a join's inputs that are asked for again and again, computed once.

    `equal`: for two places the columns of the second that are equal to some column of the first.
    """

    requirements: tuple[Requirement, ...]
    keys: tuple[tuple[Columns, ...], ...]
    neighbours: tuple[Places, ...]
    asked: tuple[tuple[Requirement, ...], ...]
    equal: dict[tuple[int, int], Columns]
    single: Places

    def growth(self, joined: Collection[int], further: int) -> Growth:
        """How many pairs the other input makes of the joined inputs."""
        neighbours = [place for place in self.neighbours[further] if place in joined]
        equal = _NONE.union(*(self._equal(place, further) for place in neighbours))
        if any(key <= equal for key in self.keys[further]):
            return Growth.ONE_FOR_EACH
        if any(self._is_one(further, place) for place in neighbours) or not self.single.isdisjoint(joined):
            return Growth.ONE_FOR_EACH_FURTHER
        tied = any(_ties(requirement, joined, further) for requirement in self.asked[further])
        return Growth.SOME if tied else Growth.ALL

    def connected(self, places: Iterable[int], within: Places) -> Places:
        """The inputs, with as few others from `within` as it takes to connect them all by conditions."""
        first, *others = sorted(places)
        reached = {first}
        for place in others:
            if place not in reached:
                reached |= self._way(reached, place, within)
        return frozenset(reached)

    def _way(self, start: Collection[int], end: int, within: Places) -> set[int]:
        """A shortest way from the end to the start; the end alone if there is none."""
        came_from = {end: end}
        waiting = [end]
        for place in waiting:
            if place in start:
                return _walked(came_from, place)
            new = [
                neighbour
                for neighbour in sorted(self.neighbours[place] & within)
                if neighbour not in came_from
            ]
            came_from |= dict.fromkeys(new, place)
            waiting += new
        return {end}

    def _equal(self, one: int, other: int) -> Columns:
        return self.equal.get((one, other), _NONE)

    def _is_one(self, place: int, other: int) -> bool:
        """Whether a row of the place has at most one partner in the other."""
        equal = self._equal(place, other)
        return any(key <= equal for key in self.keys[other])


def join_graph(
    columns: Sequence[Columns], keys: Sequence[tuple[Columns, ...]], conditions: Iterable[Scalar]
) -> JoinGraph:
    """The graph of inputs with these columns and keys under these conditions."""
    conditions = tuple(conditions)
    place_of = {column: place for place, numbers in enumerate(columns) for column in numbers}
    requirements = tuple(
        Requirement(condition, frozenset(place_of[column] for column in references(condition)))
        for condition in conditions
    )
    asked: defaultdict[int, list[Requirement]] = defaultdict(list)
    neighbours: defaultdict[int, set[int]] = defaultdict(set)
    for requirement in requirements:
        for place in requirement.places:
            asked[place].append(requirement)
            neighbours[place] |= requirement.places - {place}
    equal: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for one, other in equal_pairs(conditions):
        equal[place_of[one], place_of[other]].add(other)
    return JoinGraph(
        requirements,
        tuple(keys),
        tuple(frozenset(neighbours[place]) for place in range(len(columns))),
        tuple(tuple(asked[place]) for place in range(len(columns))),
        {pair: frozenset(columns_) for pair, columns_ in equal.items()},
        frozenset(place for place, keys_ in enumerate(keys) if _NONE in keys_),
    )


def _ties(requirement: Requirement, joined: Collection[int], further: int) -> bool:
    others = requirement.places - {further}
    return bool(others) and all(place in joined for place in others)


def _walked(came_from: dict[int, int], place: int) -> set[int]:
    """All places from this one back to where the walk began."""
    walked = {place}
    while came_from[place] != place:
        place = came_from[place]
        walked.add(place)
    return walked
