"""Columns whose last digits hang on the order in which floats were added: any order is right."""

from __future__ import annotations

from typing import Final, assert_never

from catalog.types import FLOAT4, FLOAT8
from planner.columns import references
from planner.logical import (
    Aggregate,
    AggregateCall,
    DependentJoin,
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
    """For each column of the answer whether it is a float that comes from a sum of floats."""
    found = _rounded(query.plan)
    floats = {each.column for each in fields(query.plan) if each.type.oid in _FLOATS}
    return tuple(each.column in found & floats for each in query.outputs)


def _rounded(plan: Plan) -> frozenset[int]:
    match plan:
        case Scan() | Values():
            return frozenset()
        case Filter(input=child) | Distinct(input=child) | Top(input=child):
            return _rounded(child)
        case Project(input=child, columns=columns):
            below = _rounded(child)
            return frozenset(each.field.column for each in columns if references(each.value) & below)
        case Join(left=left, right=right) | DependentJoin(left=left, right=right):
            return _rounded(left) | _rounded(right)
        case Union(inputs=inputs):
            places = [[each.column in _rounded(arm) for each in fields(arm)] for arm in inputs]
            alike = zip(plan.fields, *places, strict=True)
            return frozenset(field.column for field, *found in alike if any(found))
        case Aggregate(input=child, keys=keys, columns=aggregated):
            below = _rounded(child)
            own = {each.field.column for each in aggregated if _is_rounded(each.call, below)}
            return frozenset(own | {each.column for each in keys if each.column in below})
        case _:
            assert_never(plan)


def _is_rounded(call: AggregateCall, below: frozenset[int]) -> bool:
    adds = call.name not in _EXACT and any(each.type.oid in _FLOATS for each in call.arguments)
    return adds or bool(references(*call.arguments) & below)
