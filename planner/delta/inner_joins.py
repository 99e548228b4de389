"""How an inner join of any number of inputs follows their changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dialect.expressions.scalar import Scalar
from planner.algebra.columns import references
from planner.algebra.conditions import conjunction
from planner.algebra.logical import Field
from planner.delta.foreign_keys import Fresh, chosen
from planner.delta.join_graph import JoinGraph, Places, Requirement, join_graph
from planner.delta.linear import Moments, keep
from planner.delta.weighted import Pairs, Rows, Sum, Weighted, fields

Columns: TypeAlias = frozenset[int]

MOST_TERMS: Final = 8
"""Up to so many inputs there is a term for each; more inputs are halved, and the halves joined."""


@dataclass(frozen=True, slots=True)
class Input:
    """One of the inputs, with its keys."""

    moments: Moments
    keys: tuple[Columns, ...]


def inner_change(
    inputs: Sequence[Input], conditions: Sequence[Scalar], columns: tuple[Field, ...], fresh: Fresh
) -> Weighted:
    """d(X1 x .. x Xn) = the sum over i of X1_1 x .. x dXi x .. x Xn_0, by these columns.

    The inputs go from BEFORE to AFTER one by one: the i-th term joins dXi with the earlier inputs AFTER and
    the later ones BEFORE. A term whose change meets no old row is left out, so parents go before their
    children.

    That is n joins of n inputs. Where there are many, the changes of the first half are added up before they
    meet the second half BEFORE, and those of the second before they meet the first half AFTER: n log n joins.
    """
    parents = _parents(inputs, fresh)
    order = _parents_first(parents)
    numbers = [frozenset(field.column for field in fields(one.moments.before)) for one in inputs]
    if len(inputs) > MOST_TERMS:
        order = _neighbours_together(
            parents, join_graph(numbers, [input.keys for input in inputs], conditions)
        )
    ordered = [inputs[place] for place in order]
    graph = join_graph([numbers[place] for place in order], [input.keys for input in ordered], conditions)
    every = range(len(ordered))
    return _Telescope(ordered, graph, fresh, columns).change(every, frozenset(every)).rows


def _parents(inputs: Sequence[Input], fresh: Fresh) -> Mapping[int, frozenset[int]]:
    """For each input its parents: those to whose new rows none of its old rows refers."""
    return {
        child: frozenset(
            parent
            for parent, other in enumerate(inputs)
            if parent != child and fresh(other.moments, input.moments)
        )
        for child, input in enumerate(inputs)
    }


def _parents_first(parents: Mapping[int, frozenset[int]]) -> list[int]:
    """An order in which parents come before their children, as far as there is one."""
    ordered: list[int] = []
    waiting = list(parents)
    while waiting:
        following = next((place for place in waiting if parents[place].isdisjoint(waiting)), waiting[0])
        waiting.remove(following)
        ordered.append(following)
    return ordered


def _neighbours_together(parents: Mapping[int, frozenset[int]], graph: JoinGraph) -> list[int]:
    """The same order, changed so that each input follows the latest one that a condition connects it with."""
    ordered: list[int] = []
    waiting = set(parents)
    while waiting:
        free = {place for place in waiting if parents[place].isdisjoint(waiting)} or waiting
        beside = next((near for one in reversed(ordered) if (near := graph.neighbours[one] & free)), free)
        following = min(beside, key=lambda place: (len(graph.neighbours[place]), place))
        waiting.remove(following)
        ordered.append(following)
    return ordered


@dataclass(frozen=True, slots=True)
class _Joined:
    """Rows joined from some of the inputs; they meet all conditions on these inputs."""

    rows: Weighted
    places: Places


@dataclass(frozen=True, slots=True)
class _Telescope:
    """The inputs in the order in which they go from BEFORE to AFTER; `columns` are those of the outcome."""

    inputs: Sequence[Input]
    graph: JoinGraph
    fresh: Fresh
    columns: tuple[Field, ...]

    def change(self, steps: range, places: Places) -> _Joined:
        """How these steps, which are among the places, change the join of the places."""
        columns = self._kept(places)
        if len(steps) <= MOST_TERMS:
            terms = [self._term(place, places, columns) for place in steps]
        else:
            middle = steps.start + len(steps) // 2
            halves = (range(steps.start, middle), range(middle, steps.stop))
            changes = [self.change(half, self.graph.connected(half, places)) for half in halves]
            outcomes = (
                self._with_partners(partial, places, half)
                for partial, half in zip(changes, halves, strict=True)
            )
            terms = [keep(outcome, columns) for outcome in outcomes]
        return _Joined(Sum(tuple(terms), columns), places)

    def _term(self, place: int, places: Places, columns: tuple[Field, ...]) -> Weighted:
        """The term of one step; nothing where its change meets no old row of a later input."""
        moments = self.inputs[place].moments
        alone = _Joined(moments.change, frozenset({place}))
        term = keep(self._with_partners(alone, places, range(place, place + 1)), columns)
        later = (self.inputs[other].moments for other in sorted(places) if other > place)
        guards = (self.fresh(moments, later_moments) for later_moments in later)
        guard = next((possible for possible in guards if possible is not None), None)
        return chosen(guard, Rows((), columns), term)

    def _with_partners(self, change: _Joined, places: Places, steps: range) -> Weighted:
        """The change of these steps, joined with the rows of the other places.

        The places are joined one by one, those that make the fewest pairs first.
        """
        rows, joined, waiting = change.rows, set(change.places), set(places - change.places)
        unmet = self._unmet(change.places)
        growth = {place: self.graph.growth(joined, place) for place in waiting}
        while waiting:
            following = min(waiting, key=lambda place: (growth[place], place))
            waiting.remove(following)
            joined.add(following)
            conditions = [requirement.condition for requirement in unmet if requirement.places <= joined]
            unmet = [requirement for requirement in unmet if not requirement.places <= joined]
            moments = self.inputs[following].moments
            partners = moments.after if following < steps.start else moments.before
            rows = Pairs(rows, partners, conjunction(conditions))
            is_single = following in self.graph.single
            for place in waiting if is_single else waiting & self.graph.neighbours[following]:
                growth[place] = self.graph.growth(joined, place)
        return rows

    def _kept(self, places: Places) -> tuple[Field, ...]:
        """The columns of these places that are still read once the others are joined."""
        if len(places) == len(self.inputs):
            return self.columns
        asked = references(*(requirement.condition for requirement in self._unmet(places)))
        wanted = asked.union(field.column for field in self.columns)
        present = (field for place in sorted(places) for field in fields(self.inputs[place].moments.before))
        return tuple(field for field in present if field.column in wanted)

    def _unmet(self, places: Places) -> list[Requirement]:
        """The conditions still to be checked on pairs of these places; a single input has met none."""
        is_paired = len(places) > 1
        return [
            requirement
            for requirement in self.graph.requirements
            if not (is_paired and requirement.places <= places)
        ]
