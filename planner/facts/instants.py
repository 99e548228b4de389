"""Constants as numbers, so that shares of a range can be guessed."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from catalog.postgres.types import DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, TIMESTAMP, TIMESTAMPTZ
from dialect.expressions.scalar import Constant

_NUMBERS: Final = frozenset({INT2, INT4, INT8, NUMERIC, FLOAT4, FLOAT8})
_EPOCH: Final = datetime(2000, 1, 1)
_MICROSECONDS: Final = 1_000_000


def number_of(constant: Constant) -> float | None:
    """The value on a line: a number itself, a date's days or a timestamp's microseconds since 2000-01-01."""
    if constant.text is None:
        return None
    try:
        if constant.type.oid in _NUMBERS:
            return float(constant.text)
        if constant.type.oid in (DATE, TIMESTAMP, TIMESTAMPTZ):
            elapsed = datetime.fromisoformat(constant.text).replace(tzinfo=None) - _EPOCH
            days = constant.type.oid == DATE
            return float(elapsed.days) if days else elapsed.total_seconds() * _MICROSECONDS
    except ValueError:
        return None
    return None
