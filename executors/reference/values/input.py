"""A value from its text, as PostgreSQL's input functions read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from typing import Final

from catalog.errors import InvalidTextRepresentation
from catalog.postgres import types
from catalog.postgres.types import SqlType
from executors.reference.values.floats import single
from executors.reference.values.integers import fitting
from executors.reference.values.numerics import rescaled, scale
from executors.reference.values.values import ELEMENTS, NAN, NAN_NUMERIC, Interval, Value

_TRUE: Final = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
_FALSE: Final = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")
_QUANTITY: Final = re.compile(r"([+-]?\d+)\s*(year|mon|month|week|day|hour|minute|second)s?\b")
_CLOCK: Final = re.compile(r"([+-]?)(\d+):(\d+)(?::(\d+)(?:\.(\d+))?)?")
_MICROSECONDS: Final = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


@lru_cache(maxsize=10_000)
def read(text: str, type: SqlType) -> Value:
    """The value that the text denotes; a modifier of the type is left to its length function."""
    try:
        if type.oid in ELEMENTS:
            return _array(text, SqlType(ELEMENTS[type.oid]))
        return _READERS[type.oid](text) if type.oid in _READERS else text
    except (ValueError, InvalidOperation):
        raise InvalidTextRepresentation(f'invalid input syntax: "{text}"') from None


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(text)
    return word in _TRUE


def _integer(oid: int, text: str) -> int:
    return fitting(oid, int(text))


def _numeric(text: str) -> Decimal:
    number = Decimal(text.strip())
    if number.is_nan():
        return NAN_NUMERIC
    return rescaled(number, scale(number)) if number.is_finite() else number


def _float(text: str) -> float:
    number = float(text)
    return number if number == number else NAN


def _timestamptz(text: str) -> datetime:
    at = datetime.fromisoformat(text.strip())
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _interval(text: str) -> Interval:
    """What PostgreSQL writes with IntervalStyle postgres, and the usual units."""
    parts = {unit: int(number) for number, unit in _QUANTITY.findall(text)}
    clock = _CLOCK.search(text)
    microseconds = sum(parts.get(unit, 0) * length for unit, length in _MICROSECONDS.items())
    if clock:
        sign, hours, minutes, seconds, fraction = clock.groups(default="")
        since = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
        microseconds += (-1 if sign == "-" else 1) * (since * 1_000_000 + int(fraction.ljust(6, "0")[:6]))
    elif not parts:
        raise ValueError(text)
    months = parts.get("year", 0) * 12 + parts.get("mon", 0) + parts.get("month", 0)
    return Interval(months, parts.get("week", 0) * 7 + parts.get("day", 0), microseconds)


def _array(text: str, element: SqlType) -> tuple[Value, ...]:
    """An array of one dimension whose elements contain no special characters, quoted or not."""
    inside = text.strip().removeprefix("{").removesuffix("}")
    parts = [part.strip() for part in inside.split(",")] if inside else []
    return tuple(None if part.upper() == "NULL" else read(part.strip('"'), element) for part in parts)


_READERS: Final[Mapping[int, Callable[[str], Value]]] = {
    types.BOOL: _boolean,
    types.INT2: partial(_integer, types.INT2),
    types.INT4: partial(_integer, types.INT4),
    types.INT8: partial(_integer, types.INT8),
    types.OID: partial(_integer, types.OID),
    types.NUMERIC: _numeric,
    types.FLOAT4: lambda text: single(_float(text)),
    types.FLOAT8: _float,
    types.BPCHAR: lambda text: text.rstrip(" "),
    types.BYTEA: lambda text: bytes.fromhex(text.removeprefix("\\x")),
    types.UUID: lambda text: text.strip().lower(),
    types.DATE: lambda text: date.fromisoformat(text.strip()),
    types.TIME: lambda text: time.fromisoformat(text.strip()),
    types.TIMESTAMP: lambda text: datetime.fromisoformat(text.strip()),
    types.TIMESTAMPTZ: _timestamptz,
    types.INTERVAL: _interval,
}
