"""Has numerics added, subtracted and multiplied whatever their length, in a plan that has met long ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from catalog.postgres import functions
from dialect.expressions.scalar import LONG_ADD, LONG_MULTIPLY, LONG_SUBTRACT, Call, Scalar
from dialect.expressions.walk import transform_scalar
from planner.algebra.logical import Plan
from planner.algebra.tree import transform, with_expressions

_LONG: Final[Mapping[int, int]] = {
    functions.NUMERIC_ADD: LONG_ADD,
    functions.NUMERIC_SUB: LONG_SUBTRACT,
    functions.NUMERIC_MUL: LONG_MULTIPLY,
}


def with_long_arithmetic(plan: Plan) -> Plan:
    """The same plan, whose arithmetic has a result for numbers that are too long for a decimal."""
    return transform(plan, lambda node: with_expressions(node, _changed))


def _changed(scalar: Scalar) -> Scalar:
    return transform_scalar(scalar, _of_any_length)


def _of_any_length(scalar: Scalar) -> Scalar:
    match scalar:
        case Call(function=function) if function in _LONG:
            return replace(scalar, function=_LONG[function])
    return scalar
