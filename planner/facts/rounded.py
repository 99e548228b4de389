"""Columns whose last digits depend on the order in which floats were added; any order is right."""

from __future__ import annotations

from typing import Final

from catalog.postgres.types import FLOAT4, FLOAT8
from planner.algebra.columns import column_numbers, references
from planner.algebra.logical import AggregateCall, LogicalQuery, Plan, fields
from planner.algebra.tree import Origin, children, made

_FLOATS: Final = (FLOAT4, FLOAT8)
_EXACT: Final = frozenset({"count", "min", "max", "array_agg", "bool_and", "bool_or", "every"})


def rounded_outputs(query: LogicalQuery) -> tuple[bool, ...]:
    """For each column of the result whether it is a float computed from a sum of floats."""
    rounded = _rounded(query.plan)
    floats = {field.column for field in fields(query.plan) if field.type.oid in _FLOATS}
    return tuple(output.column in rounded & floats for output in query.outputs)


def _rounded(plan: Plan) -> frozenset[int]:
    below = frozenset[int]().union(*map(_rounded, children(plan)))
    numbers = {field.column for field, origin in made(plan) if _is_rounded(origin, below)}
    return frozenset(numbers | (below & column_numbers(plan)))


def _is_rounded(origin: Origin, below: frozenset[int]) -> bool:
    if not isinstance(origin, AggregateCall):
        return bool(references(*origin) & below)
    adds = origin.name not in _EXACT and any(argument.type.oid in _FLOATS for argument in origin.arguments)
    return adds or bool(references(*origin.arguments) & below)
