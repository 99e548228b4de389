"""What a weighted group adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from executors.reference.rows import gathered
from executors.reference.scalar import Columns, compute
from executors.reference.values.aggregate_functions import total
from executors.reference.values.values import Row, Value, order_key, settled
from planner.algebra.logical import Field
from planner.delta.weighted import Tallied, Tally

Members: TypeAlias = Sequence[tuple[Columns, int]]


def tallied(members: Members, keys: Sequence[Field], columns: Sequence[Tallied]) -> list[Row]:
    """A row for each group: its keys, then its tallies."""
    groups = gathered(members, keys, lambda member: member[0])
    return [(*key, *(_tally(column, group) for column in columns)) for key, group in groups]


def _tally(column: Tallied, group: Members) -> Value:
    if column.value is None:
        assert column.tally is Tally.WEIGHT, "only the weights have no value"
        return sum(weight for _, weight in group)
    weighted = [(compute(column.value, member), weight) for member, weight in group]
    weights = [(value, weight) for value, weight in weighted if value is not None]
    match column.tally:
        case Tally.WEIGHT:
            return sum(weight for _, weight in group)
        case Tally.COUNT:
            return sum(weight for _, weight in weights)
        case Tally.SUM:
            return settled(total(weights, column.field.type.oid))
        case Tally.LEAST | Tally.GREATEST:
            present = [value for value, weight in weights if weight > 0]
            choose = min if column.tally is Tally.LEAST else max
            return choose(present, key=order_key, default=None)
        case _:
            assert_never(column.tally)
