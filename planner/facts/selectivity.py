"""Estimates the share of rows that satisfies a condition, from the statistics of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from dialect.expressions.scalar import (
    And,
    Array,
    ArrayComparison,
    Call,
    Cast,
    Constant,
    IsNull,
    Not,
    Or,
    Quantifier,
    Reference,
    Scalar,
)
from planner.algebra.conditions import is_never_true, is_true
from planner.algebra.statistics import ColumnStatistics
from planner.facts.instants import number_of

# PostgreSQL's own guesses where nothing is known.
_EQUAL: Final = 0.005
_RANGE: Final = 1 / 3
_LIKE: Final = 0.05
_OTHER: Final = 0.5


def selectivity(condition: Scalar, columns: Mapping[int, ColumnStatistics]) -> float:
    """The share of rows for which the condition is true, conjuncts taken as independent."""
    if is_true(condition):
        return 1.0
    if is_never_true(condition):
        return 0.0
    match condition:
        case And(arguments=arguments):
            return prod(selectivity(argument, columns) for argument in arguments)
        case Or(arguments=arguments):
            return 1.0 - prod(1.0 - selectivity(argument, columns) for argument in arguments)
        case Not(argument=IsNull(argument=argument)):
            return 1.0 - _null_share(argument, columns)
        case Not(argument=argument):
            return 1.0 - selectivity(argument, columns)
        case IsNull(argument=argument):
            return _null_share(argument, columns)
        case ArrayComparison(
            quantifier=Quantifier.ANY, comparison=comparison, array=Array(elements=elements)
        ):
            return min(1.0, len(elements) * _comparison(comparison, columns))
        case Call(arguments=(_, _)):
            return _comparison(condition, columns)
    return _OTHER


def _comparison(call: Call, columns: Mapping[int, ColumnStatistics]) -> float:
    left, right = call.arguments
    known = [
        columns[reference.column]
        for reference in map(_bare, (left, right))
        if isinstance(reference, Reference) and reference.column in columns
    ]
    match call.name:
        case "=":
            return 1.0 / max(1.0, *(statistics.distinct for statistics in known)) if known else _EQUAL
        case "<>":
            return 1.0 - (1.0 / max(1.0, *(statistics.distinct for statistics in known)) if known else _EQUAL)
        case "<" | "<=" | ">" | ">=":
            return _range(call, columns)
        case "~~" | "~~*":
            return _LIKE
        case "!~~" | "!~~*":
            return 1.0 - _LIKE
    return _OTHER


def _range(call: Call, columns: Mapping[int, ColumnStatistics]) -> float:
    """The share below (or above) a constant between the bounds, as if values were spread evenly."""
    left, right = map(_bare, call.arguments)
    below = call.name.startswith("<")
    if isinstance(left, Constant):
        left, right, below = right, left, not below
    if not (isinstance(left, Reference) and isinstance(right, Constant) and left.column in columns):
        return _RANGE
    bounds = columns[left.column]
    value = number_of(right)
    if value is None or bounds.least is None or bounds.greatest is None or bounds.greatest <= bounds.least:
        return _RANGE
    share = min(1.0, max(0.0, (value - bounds.least) / (bounds.greatest - bounds.least)))
    return max(share if below else 1.0 - share, 1e-4)


def _bare(value: Scalar) -> Scalar:
    return _bare(value.argument) if isinstance(value, Cast) else value


def _null_share(value: Scalar, columns: Mapping[int, ColumnStatistics]) -> float:
    match _bare(value):
        case Reference(column=column) if column in columns:
            return columns[column].null_share
    return _EQUAL
