"""Changes of type: the functions behind casts, and those that apply a modifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from catalog.errors import NumericValueOutOfRange
from catalog.postgres.types import HEADER, INT2, INT4, INT8, numeric_digits
from executors.reference.values.floats import rounded, single
from executors.reference.values.integers import fitting
from executors.reference.values.numerics import rescaled, scale
from executors.reference.values.values import Definitions, Interval, Value


def _integer_of_float(oid: int) -> Callable[[float], int]:
    def convert(value: float) -> int:
        if not math.isfinite(value):
            raise NumericValueOutOfRange("integer out of range")
        return fitting(oid, int(rounded(value)))

    return convert


def _integer_of_numeric(oid: int) -> Callable[[Decimal], int]:
    return lambda value: fitting(oid, int(rescaled(value, 0)))


def _integer(oid: int) -> Callable[[int], int]:
    return lambda value: fitting(oid, value)


def _numeric_of_float(digits: int) -> Callable[[float], Decimal]:
    """The decimal number of so many significant digits."""

    def convert(value: float) -> Decimal:
        if not math.isfinite(value):
            raise NumericValueOutOfRange("a numeric that is not finite has no value here")
        number = Decimal(f"{value + 0.0:.{digits}g}")
        return rescaled(number, scale(number))

    return convert


def _float_of_numeric(value: Decimal) -> float:
    number = float(value)
    if math.isinf(number):
        raise NumericValueOutOfRange("value out of range: overflow")
    return number


def microseconds(of: time) -> int:
    """The microseconds since midnight."""
    return ((of.hour * 60 + of.minute) * 60 + of.second) * 1_000_000 + of.microsecond


def midnight(day: date) -> datetime:
    """The beginning of the day."""
    return datetime(day.year, day.month, day.day)


CASTS: Final[Definitions] = {
    313: ("int4", _integer(INT4)),
    314: ("int2", _integer(INT2)),
    480: ("int4", _integer(INT4)),
    481: ("int8", _integer(INT8)),
    714: ("int2", _integer(INT2)),
    754: ("int8", _integer(INT8)),
    235: ("float8", float),
    316: ("float8", float),
    482: ("float8", float),
    311: ("float8", float),
    236: ("float4", single),
    318: ("float4", single),
    652: ("float4", single),
    312: ("float4", single),
    237: ("int2", _integer_of_float(INT2)),
    238: ("int2", _integer_of_float(INT2)),
    317: ("int4", _integer_of_float(INT4)),
    319: ("int4", _integer_of_float(INT4)),
    483: ("int8", _integer_of_float(INT8)),
    653: ("int8", _integer_of_float(INT8)),
    1740: ("numeric", Decimal),
    1781: ("numeric", Decimal),
    1782: ("numeric", Decimal),
    1742: ("numeric", _numeric_of_float(6)),
    1743: ("numeric", _numeric_of_float(15)),
    1744: ("int4", _integer_of_numeric(INT4)),
    1779: ("int8", _integer_of_numeric(INT8)),
    1783: ("int2", _integer_of_numeric(INT2)),
    1745: ("float4", lambda value: single(_float_of_numeric(value))),
    1746: ("float8", _float_of_numeric),
    2557: ("bool", bool),
    2558: ("int4", int),
    2971: ("text", lambda value: "true" if value else "false"),
    401: ("text", str),
    406: ("text", str),
    407: ("name", lambda value: value.encode()[:63].decode(errors="ignore")),
    408: ("bpchar", lambda value: value.rstrip(" ")),
    409: ("name", str),
    1400: ("name", lambda value: value.encode()[:63].decode(errors="ignore")),
    1401: ("varchar", str),
    2024: ("timestamp", midnight),
    2029: ("date", datetime.date),
    1316: ("time", datetime.time),
    1370: ("interval", lambda value: Interval(microseconds=microseconds(value))),
    1174: ("timestamptz", lambda value: midnight(value).replace(tzinfo=UTC)),
    1178: ("date", datetime.date),
    2019: ("time", datetime.time),
    2027: ("timestamp", lambda value: value.replace(tzinfo=None)),
    2028: ("timestamptz", lambda value: value.replace(tzinfo=UTC)),
}


def _fit_numeric(value: Decimal, typmod: int) -> Decimal:
    precision, scale = numeric_digits(typmod)
    cut = rescaled(value, scale)
    if cut and cut.adjusted() >= precision - scale:
        raise NumericValueOutOfRange("numeric field overflow")
    return cut


def _to_digits(at: datetime, digits: int) -> datetime:
    """The moment with so many digits of a second; halves go away from the beginning of the year 2000."""
    unit = 10 ** (6 - digits)
    since = (at - datetime(2000, 1, 1, tzinfo=at.tzinfo)) // timedelta(microseconds=1)
    magnitude = (abs(since) + unit // 2) // unit * unit
    return at + timedelta(microseconds=(magnitude if since >= 0 else -magnitude) - since)


def _time_to_digits(at: time, digits: int) -> time:
    return _to_digits(datetime.combine(date(2000, 1, 1), at), digits).time()


LENGTHS: Final[Mapping[int, tuple[str, Callable[[Any, int], Value]]]] = {
    1703: ("numeric", _fit_numeric),
    668: ("bpchar", lambda value, typmod: value[: typmod - HEADER].rstrip(" ")),
    669: ("varchar", lambda value, typmod: value[: typmod - HEADER]),
    1961: ("timestamp", _to_digits),
    1967: ("timestamptz", _to_digits),
    1968: ("time", _time_to_digits),
}
"""What applies a modifier, by pg_proc's oid."""
