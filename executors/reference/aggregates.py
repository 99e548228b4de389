"""What an aggregate is over the rows of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catalog.errors import CardinalityViolation
from executors.reference.scalar import Columns, compute, holds
from executors.reference.values.aggregate_functions import AGGREGATES
from executors.reference.values.functions import NotDefined
from executors.reference.values.values import Row, SortKey, Value, equality_key, settled
from planner.algebra.logical import SINGLE, AggregateCall, Order


def aggregate(call: AggregateCall, rows: Iterable[Columns]) -> Value:
    """The value of the call over the rows: those that its condition lets in, in its order."""
    entering = [row for row in rows if call.condition is None or holds(call.condition, row)]
    entering.sort(key=lambda row: sort_key(call.order, row))
    arguments: list[Row] = [tuple(compute(argument, row) for argument in call.arguments) for row in entering]
    if call.distinct:
        arguments = _distinct(arguments, in_order=bool(call.order))
    if call.function == SINGLE:
        return _single(arguments)
    definition = AGGREGATES.get(call.function)
    if definition is None:
        raise NotDefined(f"aggregate {call.name} ({call.function})")
    _, function = definition
    return settled(function(arguments))


def sort_key(order: Sequence[Order], row: Columns) -> list[SortKey]:
    """What sorts rows into the order."""
    return [SortKey(compute(key.value, row), key.descending, key.nulls_first) for key in order]


def _distinct(arguments: list[Row], *, in_order: bool) -> list[Row]:
    different = list({equality_key(argument): argument for argument in arguments}.values())
    if in_order:
        return different
    return sorted(different, key=lambda row: [SortKey(value, False, False) for value in row])


def _single(arguments: list[Row]) -> Value:
    if len(arguments) > 1:
        raise CardinalityViolation("more than one row returned by a subquery used as an expression")
    return arguments[0][0] if arguments else None
