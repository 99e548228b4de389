"""Dates, times and intervals in binary form."""

from __future__ import annotations

from datetime import date
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from catalog.errors import ValueNotStorable
from sources.arrow import INTERVAL
from sources.octets import Values

MICROSECONDS_A_SECOND: Final = 1_000_000
MICROSECONDS_A_DAY: Final = 86_400 * MICROSECONDS_A_SECOND

# PostgreSQL counts from 2000, Arrow from 1970.
DAYS_TO_2000: Final = (date(2000, 1, 1) - date(1970, 1, 1)).days
FIRST_DAY: Final = (date.min - date(1970, 1, 1)).days
LAST_DAY: Final = (date.max - date(1970, 1, 1)).days


def decode_date(column: str, values: Values) -> pa.Array:
    """Days since 1970."""
    days = values.numbers(">i4").astype(np.int64) + DAYS_TO_2000
    require_years(column, days)
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def decode_timestamp(column: str, values: Values, type: pa.DataType) -> pa.Array:
    """Microseconds since 1970."""
    since_2000 = values.numbers(">i8")
    require_years(column, since_2000 // MICROSECONDS_A_DAY + DAYS_TO_2000)
    return pa.array(since_2000 + DAYS_TO_2000 * MICROSECONDS_A_DAY).cast(type)


def require_years(column: str, days: NDArray[np.int64]) -> None:
    """All days since 1970 are of the years that Spark knows; infinity, the farthest day, is not."""
    if days.min() < FIRST_DAY or days.max() > LAST_DAY:
        raise ValueNotStorable(column, "It is infinite, or not of the years 1 to 9999.")


def decode_interval(column: str, values: Values) -> pa.Array:
    """Months, days and microseconds, each as PostgreSQL keeps them."""
    values.require_length(16)
    microseconds = values.read(">i8").astype(np.int64)
    days, months = values.read(">i4", 8).astype(np.int32), values.read(">i4", 12).astype(np.int32)
    for infinity, limit in ((np.int32(2**31 - 1), 2**63 - 1), (np.int32(-(2**31)), -(2**63))):
        if ((months == infinity) & (days == infinity) & (microseconds == limit)).any():
            raise ValueNotStorable(column, "It is infinite.")
    parts = [pa.array(months), pa.array(days), pa.array(microseconds)]
    return pa.StructArray.from_arrays(parts, fields=list(INTERVAL))


def timetz_texts(values: Values) -> list[str]:
    """Times of day with their zones, as PostgreSQL writes them."""
    values.require_length(12)
    times, zones = values.read(">i8").tolist(), values.read(">i4", 8).tolist()
    return [_time(time) + _zone(-west) for time, west in zip(times, zones, strict=True)]


def _time(microseconds: int) -> str:
    seconds, fraction = divmod(microseconds, MICROSECONDS_A_SECOND)
    digits = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{digits}"


def _zone(east: int) -> str:
    """Seconds east of UTC; minutes and seconds only where there are any."""
    sign, seconds = "-" if east < 0 else "+", abs(east)
    parts = [seconds // 3600, seconds // 60 % 60, seconds % 60]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return sign + ":".join(f"{part:02d}" for part in parts)
