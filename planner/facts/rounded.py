"""Columns whose last digits depend on the order in which floats were added; any order is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from catalog.postgres.types import FLOAT4, FLOAT8
from planner.algebra.columns import column_numbers, references
from planner.algebra.logical import AggregateCall, Field, LogicalQuery, Plan
from planner.algebra.tree import Origin, call_expressions, children, made

DOUBLE: Final = 1e-9
"""How far two sums of doubles may be apart, by the size of the larger one."""

SINGLE: Final = 1e-5
"""The same where one of the sums, or what is computed of it, is in single precision."""

_FLOATS: Final = (FLOAT4, FLOAT8)
_EXACT: Final = frozenset({"count", "min", "max", "array_agg", "bool_and", "bool_or", "every"})


def tolerances(query: LogicalQuery) -> tuple[float | None, ...]:
    """For each column of the result how far numbers in it may be apart; None if no sum of floats is in it."""
    rounded = _rounded(query.plan)
    return tuple(rounded.get(output.column) for output in query.outputs)


def _rounded(plan: Plan) -> dict[int, float]:
    """The columns of the plan that come of sums of floats, each with its tolerance."""
    below: dict[int, float] = {}
    for child in children(plan):
        below |= _rounded(child)
    computed = ((field, _tolerance(field, origin, below)) for field, origin in made(plan))
    here = {field.column: tolerance for field, tolerance in computed if tolerance is not None}
    return {column: below[column] for column in column_numbers(plan) if column in below} | here


def _tolerance(field: Field, origin: Origin, below: Mapping[int, float]) -> float | None:
    """The largest one of what the column is computed of, and of the sum that it is."""
    if isinstance(origin, AggregateCall):
        sources = _of_sources(references(*call_expressions(origin)), below)
        if origin.name not in _EXACT and any(argument.type.oid in _FLOATS for argument in origin.arguments):
            sources.append(DOUBLE)
    else:
        sources = _of_sources(references(*origin), below)
    if sources and field.type.oid == FLOAT4:
        sources.append(SINGLE)
    return max(sources, default=None)


def _of_sources(columns: Iterable[int], below: Mapping[int, float]) -> list[float]:
    return [below[column] for column in columns if column in below]
