"""The types that random standing queries read, each with the values at its edges."""

from __future__ import annotations

from typing import Final

from tests.fuzzcomposed import COMPOSED
from tests.fuzzvalues import Feature, Kind

_TEXTS: Final = (
    *(
        "",
        " ",
        "a",
        "A",
        "a ",
        " a",
        "b",
        "ab",
        "B",
        "_",
        "%",
        "\\",
        "'",
        '"',
        "0",
        "1",
        "1.0",
        "NULL",
        "null",
    ),
    *(
        "a\nb",
        "\t",
        "{a,b}",
        "ä",
        "Ä",
        "ß",
        "\u0131",
        "İ",
        "éa",
        "日本",
        "😀",
        "e\u0301",
        "a" * 40,
        "ab " * 900,
    ),
)
_FAR_DATES: Final = (
    "infinity",
    "-infinity",
    "0044-03-15 BC",
    "5874897-12-31",
    "4713-01-01 BC",
    "10000-01-01",
)
_FAR_TIMES: Final = (
    *(
        "infinity",
        "-infinity",
        "0044-03-15 12:00:00 BC",
        "294276-12-31 23:59:59.999999",
        "10000-01-01 00:00:00",
    ),
    "4713-01-01 00:00:00 BC",
)

KINDS: Final = (
    Kind("boolean", "bool", ("t", "f")),
    Kind("smallint", "int", ("0", "1", "-1", "2", "32767", "-32768")),
    Kind("integer", "int", ("0", "1", "-1", "2", "7", "42", "2147483647", "-2147483648")),
    Kind(
        "bigint",
        "int",
        ("0", "1", "-1", "2", "4567890123456789", "9223372036854775807", "-9223372036854775808"),
    ),
    Kind(
        "real",
        "float",
        (
            "0",
            "1.5",
            "-1.5",
            "2",
            "0.1",
            "NaN",
            "Infinity",
            "-Infinity",
            "3.4028235e+38",
            "1.17549435e-38",
            "1e-45",
        ),
        {Feature.NEGATIVE_ZERO: ("-0", "-0")},
        spellings=True,
        normal="{}",
    ),
    Kind(
        "double precision",
        "float",
        (
            *(
                "0",
                "1.5",
                "-1.5",
                "2",
                "0.1",
                "1004.3",
                "-34.84",
                "1.2345678901234e+200",
                "1.2345678901234e-200",
            ),
            *(
                "NaN",
                "Infinity",
                "-Infinity",
                "1.7976931348623157e308",
                "5e-324",
                "123456789012345678",
                "1e15",
            ),
        ),
        {Feature.NEGATIVE_ZERO: ("-0", "-0")},
        spellings=True,
        normal="{}",
    ),
    Kind(
        "numeric(8,2)",
        "numeric",
        ("0.00", "0.01", "-0.01", "1.50", "-2.25", "100.10", "999999.99"),
        {Feature.NUMERIC_SPECIALS: ("NaN",)},
        normal="{:.2f}",
    ),
    Kind(
        "numeric",
        "numeric",
        ("0", "1", "-1", "1.5", "-34338492.215397047", "4.31", "7799461.4119", "-16397.038491"),
        {
            Feature.SCALE: ("0.0", "0.00", "1.0", "1.00", "1.10", "1.1", "-7.50", "1e5", "100000.000"),
            Feature.NUMERIC_SPECIALS: ("NaN", "Infinity", "-Infinity"),
            Feature.NUMERIC_LARGE: (
                "1e40",
                "-12345678901234567890123456789.5",
                "1e-25",
                "0.1234567890123456789012345",
            ),
        },
        needs=Feature.SCALE,
        spellings=True,
        normal="{:.9f}",
    ),
    Kind(
        "numeric(30,12)", "numeric", ("0", "1", "-1.5", "123456789012345678.123456789012", "0.000000000001")
    ),
    Kind("text", "text", _TEXTS),
    Kind('text COLLATE "C"', "text", _TEXTS),
    Kind('text COLLATE "ucs_basic"', "text", _TEXTS),
    Kind("varchar(5)", "text", ("", " ", "a", "A", "ab", "abcde", "a    ", "ä", "日本", "1")),
    Kind("varchar", "text", _TEXTS),
    Kind("character(4)", "bpchar", ("", "a", "ab", "abcd", "A", " a", "ä", "1"), needs=Feature.PADDING),
    Kind("name", "name", ("", "a", "A", "public", "a" * 63)),
    Kind("json", "json", ("null", "1", "1.0", '{"a":1,"a":2}', ' {"b" : 1} ', "[]", '"a"')),
    Kind(
        "jsonb",
        "jsonb",
        (
            "null",
            "1",
            "2",
            '"a"',
            '{"a":1,"b":[1,2]}',
            '{"a": null}',
            "[]",
            "{}",
            "true",
            "[1, [2]]",
            '"\\u00e4"',
        ),
        {Feature.JSONB_SCALE: ("1.0", "1.00", '{"a":1.0,"b":[1,2.0]}', "1e2", "100")},
        spellings=True,
    ),
    Kind(
        "uuid",
        "uuid",
        (
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
    ),
    Kind("bytea", "bytea", ("\\x", "\\x00", "\\xff00", "\\xdeadbeef", "\\x61")),
    Kind(
        "date",
        "date",
        ("1970-01-01", "2000-02-29", "1999-12-31", "0001-01-01", "9999-12-31", "2020-03-29"),
        {Feature.FAR_DATES: _FAR_DATES},
    ),
    Kind(
        "time",
        "time",
        ("00:00:00", "23:59:59.999999", "12:34:56.789", "00:00:00.000001"),
        {Feature.MIDNIGHT: ("24:00:00",)},
    ),
    Kind("time(2)", "time", ("00:00:00", "23:59:59.99", "12:34:56.78"), {Feature.MIDNIGHT: ("24:00:00",)}),
    Kind(
        "timetz",
        "timetz",
        ("00:00:00+00", "12:00:00+01", "11:00:00+00", "23:59:59.999999-15:59", "12:00:00+15:59:59"),
        {Feature.MIDNIGHT: ("24:00:00+02", "24:00:00-07")},
        needs=Feature.TIMETZ,
    ),
    Kind(
        "timestamp",
        "timestamp",
        (
            "1970-01-01 00:00:00",
            "2000-02-29 12:34:56.789",
            "9999-12-31 23:59:59.999999",
            "0001-01-01 00:00:00",
            "2020-03-29 02:30:00",
            "1883-11-18 12:00:00",
        ),
        {Feature.FAR_DATES: _FAR_TIMES},
    ),
    Kind(
        "timestamptz",
        "timestamptz",
        (
            "1970-01-01 00:00:00+00",
            "2000-02-29 12:34:56.789+03",
            "0001-01-02 00:00:00+00",
            "2020-03-29 02:30:00+00",
            "2020-10-25 00:30:00+00",
            "9999-12-30 00:00:00+00",
        ),
        {Feature.FAR_DATES: _FAR_TIMES},
    ),
    Kind("timestamp(0)", "timestamp", ("1970-01-01 00:00:00", "2000-02-29 12:34:56")),
    Kind(
        "interval",
        "interval",
        (
            "0",
            "1 mon",
            "30 days",
            "720:00:00",
            "-1 mon 30 days",
            "1 us",
            "-00:00:00.5",
            "1 year",
            "1 day -01:00:00",
            "178000 years",
            "12 mons",
        ),
        spellings=True,
    ),
    *COMPOSED,
)

UNREAD: Final = (
    *(("oid", "4294967295"), ('"char"', "'a'")),
    *(("inet", "'10.0.0.1/8'"), ("point", "'(1,2)'"), ("int4range", "'[1,5)'"), ("money", "12.5::money")),
    *(("bit(3)", "B'101'"), ("tsvector", "'a b'"), ("pair", "'(1,x)'"), ("macaddr", "'08:00:2b:01:02:03'")),
    *(("int4multirange", "'{[1,2)}'"), ("bigint[]", "'{1}'"), ("text", "repeat('x', 900000)")),
)
"""Columns that no query reads, with a value of theirs: most have types that are not stored."""

UNSTORABLE: Final = (("numeric", "'NaN'"), ("date", "'infinity'"), ("integer[]", "'{{1},{2}}'"))
"""The same, of types that are stored, with values that are not."""
