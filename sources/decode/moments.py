"""Dates, times and intervals in binary form."""

from __future__ import annotations

from datetime import date
from typing import Final

import numpy as np
import pyarrow as pa

from catalog.errors import ValueNotStorable
from dialect.expressions.moment_text import (
    INFINITE_DAYS,
    INFINITE_MICROSECONDS,
    LAST_DAY_WITH_TIME,
    MICROSECONDS_A_DAY,
    write_time,
)
from sources.decode.arrow import INTERVAL
from sources.messages.octets import Values

# PostgreSQL counts from 2000, Arrow from 1970; infinite are the same numbers.
DAYS_TO_2000: Final = (date(2000, 1, 1) - date(1970, 1, 1)).days
MICROSECONDS_TO_2000: Final = DAYS_TO_2000 * MICROSECONDS_A_DAY
TOO_LATE: Final = "It is later than the year 294246."


def decode_date(values: Values) -> pa.Array:
    """Days since 1970."""
    since_2000 = values.numbers(">i4").astype(np.int64)
    days = np.where(np.isin(since_2000, INFINITE_DAYS), since_2000, since_2000 + DAYS_TO_2000)
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def decode_timestamp(column: str, values: Values, type: pa.DataType) -> pa.Array:
    """Microseconds since 1970."""
    since_2000 = values.numbers(">i8").astype(np.int64)
    infinite = np.isin(since_2000, np.array(INFINITE_MICROSECONDS, np.int64))
    last = (LAST_DAY_WITH_TIME + 1) * MICROSECONDS_A_DAY - MICROSECONDS_TO_2000
    if (~infinite & (since_2000 >= last)).any():
        raise ValueNotStorable(column, TOO_LATE)
    shift = np.where(infinite, 0, MICROSECONDS_TO_2000)
    return pa.array(since_2000 + shift).cast(type)


def decode_interval(values: Values) -> pa.Array:
    """Months, days and microseconds, each as PostgreSQL keeps them, infinite intervals too."""
    values.require_length(16)
    microseconds = values.read(">i8").astype(np.int64)
    days, months = values.read(">i4", 8).astype(np.int32), values.read(">i4", 12).astype(np.int32)
    parts = [pa.array(months), pa.array(days), pa.array(microseconds)]
    return pa.StructArray.from_arrays(parts, fields=list(INTERVAL))


def timetz_texts(values: Values) -> list[str]:
    """Times of day with their zones, as PostgreSQL writes them."""
    values.require_length(12)
    times, zones = values.read(">i8").tolist(), values.read(">i4", 8).tolist()
    return [write_time(time) + _zone(-west) for time, west in zip(times, zones, strict=True)]


def _zone(east: int) -> str:
    """Seconds east of UTC; minutes and seconds only where there are any."""
    sign, seconds = "-" if east < 0 else "+", abs(east)
    parts = [seconds // 3600, seconds // 60 % 60, seconds % 60]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return sign + ":".join(f"{part:02d}" for part in parts)
