"""The text of a value, as PostgreSQL's output functions write it."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal

from catalog.postgres.types import BPCHAR, FLOAT4, HEADER, NO_TYPMOD, SqlType
from executors.reference.values.floats import single
from executors.reference.values.integers import quotient, remainder
from executors.reference.values.values import ELEMENTS, Interval, Value

_EXPONENT_FROM = {True: 6, False: 15}  # float4 and float8 are written with an exponent from there


def write(value: Value, type: SqlType) -> str:
    """The text; NULL has none."""
    match value:
        case bool():
            return "t" if value else "f"
        case Decimal():
            return f"{value:f}" if value.is_finite() else str(value)
        case float():
            return _float(value, is_single=type.oid == FLOAT4)
        case bytes():
            return "\\x" + value.hex()
        case datetime() | time():
            return _time(value)
        case Interval():
            return _interval(value)
        case tuple():
            element = SqlType(ELEMENTS[type.oid])
            return (
                "{" + ",".join("NULL" if member is None else write(member, element) for member in value) + "}"
            )
        case str():
            return padded(value, type)
        case int() | date():
            return str(value)
        case _:
            raise AssertionError(f"no value of ours: {value!r}")


def padded(text: str, type: SqlType) -> str:
    """The text with its padding, if the type is bpchar of some length."""
    return text.ljust(type.typmod - HEADER) if type.oid == BPCHAR and type.typmod != NO_TYPMOD else text


def _float(value: float, *, is_single: bool) -> str:
    """The shortest text that is read as the same value."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    texts = (f"{value:.{digits}e}" for digits in range(17))
    shortest = next(text for text in texts if (single(float(text)) if is_single else float(text)) == value)
    mantissa, exponent = shortest.split("e")
    if -5 < int(exponent) < _EXPONENT_FROM[is_single]:
        return f"{Decimal(shortest):f}"
    return f"{mantissa}e{int(exponent):+03d}"


def _time(value: datetime | time) -> str:
    text = value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    zone = "+00" if value.tzinfo else ""
    text = text.removesuffix("+00:00")
    return (text.rstrip("0") if "." in text else text) + zone


def _interval(value: Interval) -> str:
    """The text of an interval as IntervalStyle postgres has it."""
    years, months = quotient(value.months, 12), remainder(value.months, 12)
    parts: list[str] = []
    negative = False
    for number, unit in ((years, "year"), (months, "mon"), (value.days, "day")):
        if number:
            parts.append(
                f"{'+' if negative and number > 0 else ''}{number} {unit}{'' if number == 1 else 's'}"
            )
            negative = number < 0
    if value.microseconds or not parts:
        seconds, fraction = divmod(abs(value.microseconds), 1_000_000)
        sign = "-" if value.microseconds < 0 else "+" if negative else ""
        clock = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        parts.append(clock + (f".{fraction:06}".rstrip("0") if fraction else ""))
    return " ".join(parts)
