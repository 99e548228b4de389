"""What changes of the inputs do to an inner join of any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dialect.scalar import Scalar
from planner.columns import references
from planner.conditions import conjunction
from planner.delta import Moments, keep
from planner.delta_keys import Fresh, chosen, equal_columns
from planner.logical import Field
from planner.weighted import Pairs, Rows, Sum, Weighted, fields

Columns: TypeAlias = frozenset[int]


@dataclass(frozen=True, slots=True)
class Input:
    """One of the inputs, with its keys."""

    moments: Moments
    keys: tuple[Columns, ...]


def inner_change(
    inputs: Sequence[Input], conditions: Sequence[Scalar], columns: tuple[Field, ...], fresh: Fresh
) -> Weighted:
    """d(X1 x .. x Xn) = the sum over i of X1_1 x .. x dXi x .. x Xn_0, by these columns.

    The inputs go from before to after one by one: what the i-th step changes is dXi with those that went
    before it as they are after, and the others as they were. A summand whose change meets nothing old is
    none, so parents go before their children.
    """
    inputs = _parents_first(inputs, fresh)
    terms = []
    for place, each in enumerate(inputs):
        later = inputs[place + 1 :]
        after = [_Part(other.moments.after, other.keys) for other in inputs[:place]]
        before = [_Part(other.moments.before, other.keys) for other in later]
        term = keep(_joined(_Part(each.moments.change, each.keys), after + before, conditions), columns)
        guards = (fresh(each.moments, other.moments) for other in later)
        guard = next((found for found in guards if found is not None), None)
        terms.append(chosen(guard, Rows((), columns), term))
    return Sum(tuple(terms), columns)


def _parents_first(inputs: Sequence[Input], fresh: Fresh) -> list[Input]:
    """The inputs in an order in which, as far as there is one, a parent stands before its children."""
    ordered: list[Input] = []
    waiting = list(inputs)
    while waiting:
        following = next((each for each in waiting if not _has_parent(each, waiting, fresh)), waiting[0])
        waiting.remove(following)
        ordered.append(following)
    return ordered


def _has_parent(child: Input, among: Sequence[Input], fresh: Fresh) -> bool:
    return any(fresh(each.moments, child.moments) for each in among if each is not child)


@dataclass(frozen=True, slots=True)
class _Part:
    rows: Weighted
    keys: tuple[Columns, ...]

    @property
    def columns(self) -> Columns:
        return frozenset(each.column for each in fields(self.rows))


def _joined(first: _Part, others: Sequence[_Part], conditions: Sequence[Scalar]) -> Weighted:
    """All pairs that meet the conditions: from the first, the change, by what makes the fewest of them."""
    joined, waiting, unmet = first, list(others), list(conditions)
    while waiting:
        following = min(waiting, key=lambda each: _growth(joined, each, conditions))
        waiting.remove(following)
        present = joined.columns | following.columns
        met = [each for each in unmet if references(each) <= present]
        unmet = [each for each in unmet if each not in met]
        pairs = Pairs(joined.rows, following.rows, conjunction(met))
        joined = _Part(pairs, joined.keys + following.keys)
    return joined.rows


def _growth(joined: _Part, following: _Part, conditions: Sequence[Scalar]) -> int:
    """How many pairs there may be, from few to many.

    0: at most one for each that is joined, by a key of what follows; 1: at most one for each that follows; 2:
    any, under a condition; 3: all.
    """
    equal = equal_columns(conditions)
    if any(key <= _equal_to(joined, following, equal) for key in following.keys):
        return 0
    if any(key <= _equal_to(following, joined, equal) for key in joined.keys):
        return 1
    both = joined.columns | following.columns
    read = [references(each) for each in conditions]
    tied = any(each <= both and each & joined.columns and each & following.columns for each in read)
    return 2 if tied else 3


def _equal_to(one: _Part, other: _Part, equal: set[tuple[int, int]]) -> Columns:
    """The other's columns that are equal to some of the one's."""
    return frozenset(there for here, there in equal if here in one.columns and there in other.columns)
