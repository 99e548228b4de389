"""Aggregates rows before a join where that leaves far fewer rows to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from catalog.postgres import functions
from dialect.expressions.scalar import Reference
from planner.algebra.columns import Numbers, column_numbers, references
from planner.algebra.equality import agrees
from planner.algebra.logical import Aggregate, AggregateCall, Aggregated, Field, Join, JoinKind, Plan, fields
from planner.algebra.statistics import Statistics
from planner.facts.cardinality import estimate

SHRINKS: Final = 0.5
"""The share of a side's rows that its groups must stay below."""

_EXTREMES: Final = frozenset({"min", "max"})


def push_aggregates(statistics: Statistics, numbers: Numbers) -> Callable[[Plan], Plan]:
    """γ_(G; f(x))(L ⋈ R) = γ_(G; f(p))(γ_(G_L, J_L; p = f(x))(L) ⋈ R), with x and J_L columns of L that R
    is joined by.

    Rows of L that agree on G_L and J_L have the same partners, so f may combine them: for sums of
    numeric, which are exact in any order, and for extremes. The condition of the join must be the same for
    equal values, of which a group has one. Not for sums of integers, whose sums have
    another type, nor of floats, which are not associative; not without keys, where no rows make a row.
    """

    def rule(plan: Plan) -> Plan:
        match plan:
            case Aggregate(input=Join(kind=JoinKind.INNER) as join, keys=keys, columns=columns) if (
                keys and columns and all(_is_partial(column.call) for column in columns)
            ):
                read = references(*(value for column in columns for value in column.call.arguments))
                for side in (join.left, join.right):
                    group = _group(side, plan, join)
                    if (
                        read
                        and read <= column_numbers(side)
                        and all(agrees(join.condition, field.column) for field in group)
                        and _shrinks(side, group, statistics)
                    ):
                        return _pushed(plan, join, side, numbers)
        return plan

    return rule


def _is_partial(call: AggregateCall) -> bool:
    return (
        (call.function == functions.SUM_NUMERIC or call.name in _EXTREMES)
        and not call.distinct
        and not call.order
        and call.condition is None
    )


def _group(side: Plan, aggregate: Aggregate, join: Join) -> tuple[Field, ...]:
    wanted = frozenset(key.column for key in aggregate.keys) | references(join.condition)
    return tuple(field for field in fields(side) if field.column in wanted)


def _shrinks(side: Plan, group: tuple[Field, ...], statistics: Statistics) -> bool:
    if isinstance(side, Aggregate) or not group:
        return False
    groups = estimate(Aggregate(side, group, ()), statistics).rows
    return groups < SHRINKS * estimate(side, statistics).rows


def _pushed(aggregate: Aggregate, join: Join, side: Plan, numbers: Numbers) -> Plan:
    partial = tuple(
        Aggregated(numbers.field(column.field.name, column.field.type), column.call)
        for column in aggregate.columns
    )
    below = Aggregate(side, _group(side, aggregate, join), partial)
    left, right = (below if child is side else child for child in (join.left, join.right))
    whole = tuple(
        Aggregated(column.field, _over(column.call, part.field))
        for column, part in zip(aggregate.columns, partial, strict=True)
    )
    return Aggregate(Join(join.kind, left, right, join.condition), aggregate.keys, whole)


def _over(call: AggregateCall, partial: Field) -> AggregateCall:
    arguments = (Reference(partial.column, partial.type),)
    return AggregateCall(call.function, call.name, arguments, call.type, collation=call.collation)
