"""Edge values of each type, and values on their way between PostgreSQL's text, Python and Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import time
from decimal import Context, Decimal
from typing import Any, Final

import pyarrow as pa

from catalog.storage import Plain, Storage, Written
from catalog.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    CHAR,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NAME,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    SqlType,
)
from executors.reference.input import read
from executors.reference.values import Interval, Value
from sources.arrow import arrow_type

WIDE: Final = Context(prec=200)
SPECIAL: Final = {"Infinity": "Infinity", "-Infinity": "-Infinity", "NaN": "NaN"}
_WORDS: Final = (
    "",
    "a",
    "A",
    "b",
    "ab",
    "a%",
    "%",
    "_",
    "\\",
    " a ",
    "aé",
    "ß",
    "😀x",
    "$1",
    "${x}",
    "'",
    "\n",
    "a\nb",
    "99999999999999999999",
    "32768",
    " -7\n",
)
EDGES: Final[dict[int, tuple[str, ...]]] = {
    BOOL: ("f", "t"),
    INT2: ("0", "1", "-1", "7", "-7", "2", "32767", "-32768"),
    INT4: ("0", "1", "-1", "7", "-7", "3", "2147483647", "-2147483648"),
    INT8: ("0", "1", "-1", "7", "-7", "4", "9223372036854775807", "-9223372036854775808"),
    FLOAT4: (
        *("0", "-0", "1", "-1.5", "2.5", "3e38", "1e-38", "NaN", "Infinity", "-Infinity"),
        *("9.223372e+18", "-9.223372e+18", "32767.5"),
    ),
    FLOAT8: (
        *("0", "-0", "1", "-1.5", "2.5", "0.1", "1e308", "1e-308", "NaN", "Infinity", "-Infinity"),
        *("9.223372036854775807e18", "-9.223372036854775808e18", "2147483647.5", "32767.4"),
    ),
    NUMERIC: (
        "0",
        "1",
        "-1",
        "0.5",
        "-0.5",
        "2.4999",
        "1.5",
        "-2.5",
        "3",
        "7",
        "99999999.9999",
        "0.0001",
        "-12.3456",
    ),
    TEXT: _WORDS,
    VARCHAR: _WORDS,
    BPCHAR: ("", "a", "A", "ab", "b%", "é"),
    NAME: ("", "a", "B"),
    CHAR: ("a", "B", "~"),
    BYTEA: ("\\x", "\\x00", "\\xff", "\\x6162"),
    DATE: (
        "2000-01-01",
        "2024-02-29",
        "2023-12-31",
        "1969-12-31",
        "0001-01-01",
        "9999-12-31",
        "2021-01-03",
        "2020-12-28",
    ),
    TIME: ("00:00:00", "12:34:56.789", "23:59:59.999999"),
    TIMESTAMP: (
        *(
            "2000-01-01 00:00:00",
            "2024-02-29 23:59:59.999999",
            "1969-12-31 12:00:00.5",
            "0001-01-01 00:00:00",
        ),
        *("2024-01-31 01:02:03", "9999-12-31 23:59:59.999999", "2023-12-31 00:00:00.000001"),
        *("2000-01-01 00:00:01.003969", "2024-02-29 01:02:01.016464", "5138-11-16 09:46:40.000123"),
    ),
    TIMESTAMPTZ: ("2000-01-01 00:00:00+00", "2024-02-29 23:59:59.999999+00", "1969-12-31 12:00:00.5+00"),
    INTERVAL: (
        "00:00:00",
        "1 mon",
        "30 days",
        "-1 mon",
        "1 day",
        "24:00:00",
        "1 mon -1 days +00:00:00.000001",
        "-13 mons",
        "2 days",
        "178956970 years",
        "-178956970 years -8 mons -2147483648 days",
        "-2562047788:00:54.775807",
    ),
    JSONB: ("null", "1.5", "[1, 2]", '{"a": "1.0"}', '"a"'),
    UUID: ("00000000-0000-0000-0000-000000000000", "6dd5aa2a-8d3e-4c3c-9e51-7cde4a1f3c2b"),
}


NO_DECIMALS: Final = ("1e25", "-1e25", "1e-19", "-3.0000000000000000001", "NaN", "Infinity", "-Infinity")
"""Numerics of any scale that a batch has only the text of."""


def value_of(text: str | None, type_: SqlType) -> Value:
    """What PostgreSQL's text stands for."""
    return None if text is None else read(text, type_)


def as_arrow(values: Sequence[Value], storage: Storage) -> pa.Array:
    """The values as a column of a batch."""
    if isinstance(storage, Written):
        return pa.array([_written(each) for each in values], type=arrow_type(storage))
    return pa.array([_stored(each) for each in values], type=arrow_type(storage))


def _written(value: Value) -> Any:
    """A numeric with its text; only that where a batch has no decimal for it."""
    if value is None:
        return None
    assert isinstance(value, Decimal)
    fits = (
        value.is_finite() and abs(value) < 10**20 and value == value.quantize(Decimal("1e-18"), context=WIDE)
    )
    text = str(SPECIAL.get(str(value), f"{value:f}"))
    exponent = value.as_tuple().exponent
    long = fits and isinstance(exponent, int) and exponent < -18
    short = value.quantize(Decimal("1e-18"), context=WIDE) if long else value
    return {"value": short if fits else None, "text": text}


def _stored(value: Value) -> Any:
    match value:
        case Interval():
            return {"months": value.months, "days": value.days, "microseconds": value.microseconds}
        case time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case _:
            return value


def from_arrow(value: Any, storage: Storage) -> Value:
    """A value of a batch as the reference has it."""
    match value, storage:
        case dict(), Written():
            return read(value["text"], SqlType(NUMERIC))
        case dict(), Plain.INTERVAL:
            return Interval(value["months"], value["days"], value["microseconds"])
        case int(), Plain.TIME:
            seconds, microseconds = divmod(value, 1_000_000)
            return time(seconds // 3600, seconds // 60 % 60, seconds % 60, microseconds)
        case list(), _:
            return tuple(value)
        case _:
            return value
