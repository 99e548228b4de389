"""Counting rows, and asking whether there are any."""

from __future__ import annotations

from typing import Final

from catalog.postgres import functions
from catalog.postgres.comparisons import GREATER_INT8
from catalog.postgres.types import BOOLEAN, INT8, SqlType
from dialect.expressions.scalar import Call, Constant, Notation, Scalar
from planner.algebra.columns import refer
from planner.algebra.logical import AggregateCall, Field

COUNT: Final = SqlType(INT8)

_COUNTS: Final = functions.COUNTS | {functions.REGR_COUNT}


def count_rows(condition: Scalar | None = None) -> AggregateCall:
    """count(*), or that of the rows for which the condition is true."""
    return AggregateCall(functions.COUNT, "count", (), COUNT, condition=condition)


def over_no_rows(call: AggregateCall) -> Constant | None:
    """The value of the aggregate over no rows; None if it is NULL."""
    return Constant("0", call.type) if call.function in _COUNTS else None


def is_positive(count: Field) -> Scalar:
    """Whether anything was counted."""
    return Call(GREATER_INT8, ">", Notation.OPERATOR, (refer(count), Constant("0", COUNT)), 0, BOOLEAN)
