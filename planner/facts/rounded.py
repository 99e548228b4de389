"""Columns whose last digits depend on the order in which floats were added; any order is right."""

from __future__ import annotations

from typing import Final, assert_never

from catalog.postgres.types import FLOAT4, FLOAT8
from planner.algebra.columns import references
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Join,
    LogicalQuery,
    Plan,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)

_FLOATS: Final = (FLOAT4, FLOAT8)
_EXACT: Final = frozenset({"count", "min", "max", "array_agg", "bool_and", "bool_or", "every"})


def rounded_outputs(query: LogicalQuery) -> tuple[bool, ...]:
    """For each column of the result whether it is a float computed from a sum of floats."""
    rounded = _rounded(query.plan)
    floats = {field.column for field in fields(query.plan) if field.type.oid in _FLOATS}
    return tuple(output.column in rounded & floats for output in query.outputs)


def _rounded(plan: Plan) -> frozenset[int]:
    match plan:
        case Scan() | Values():
            return frozenset()
        case Filter(input=child) | Distinct(input=child) | Top(input=child):
            return _rounded(child)
        case Project(input=child, columns=columns):
            below = _rounded(child)
            return frozenset(column.field.column for column in columns if references(column.value) & below)
        case Join(left=left, right=right):
            return _rounded(left) | _rounded(right)
        case Union(inputs=inputs):
            places = [[field.column in _rounded(arm) for field in fields(arm)] for arm in inputs]
            alike = zip(plan.fields, *places, strict=True)
            return frozenset(field.column for field, *flags in alike if any(flags))
        case Aggregate(input=child, keys=keys, columns=aggregated):
            below = _rounded(child)
            numbers = {column.field.column for column in aggregated if _is_rounded(column.call, below)}
            return frozenset(numbers | {key.column for key in keys if key.column in below})
        case _:
            assert_never(plan)


def _is_rounded(call: AggregateCall, below: frozenset[int]) -> bool:
    adds = call.name not in _EXACT and any(argument.type.oid in _FLOATS for argument in call.arguments)
    return adds or bool(references(*call.arguments) & below)
