"""Edge values of each type, and values on their way between PostgreSQL's text, Python and Arrow."""

from __future__ import annotations

from typing import Final

from catalog.postgres.types import (
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
from executors.reference.values.input import read
from executors.reference.values.values import Value

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
