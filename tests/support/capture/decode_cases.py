"""Every type that is stored: what may be written into a column of it, and what PostgreSQL says of it then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

from hypothesis import strategies as st

Written: TypeAlias = str | Sequence[str | None] | None

SETUP = """
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'very happy', 'größer');
    CREATE DOMAIN price AS numeric(12, 3) CHECK (VALUE >= 0);
    CREATE DOMAIN dearer AS price;
    CREATE DOMAIN word AS varchar(8);
    CREATE DOMAIN numbers AS int4[];
    CREATE DOMAIN free AS numeric;
"""


@dataclass(frozen=True)
class Case:
    """A type, what is written into a column of it, and the text that stands for the stored value of `v`."""

    type: str
    written: st.SearchStrategy[Any]
    expected: str = "v::text"
    is_list: bool = False

    def listed(self) -> Case:
        """The same for an array of the type."""
        lists = st.lists(st.none() | self.written, max_size=6)
        return replace(self, type=f"{self.type}[]", written=lists, is_list=True)

    def selected(self) -> str:
        """The expression for a column `v`."""
        if not self.is_list:
            return self.expected
        elements = f"ARRAY(SELECT {self.expected} FROM unnest(v) WITH ORDINALITY u (v, n) ORDER BY n)"
        return f"CASE WHEN v IS NOT NULL THEN {elements} END"


def _clock(microseconds: int) -> str:
    seconds, fraction = divmod(microseconds, 1_000_000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"


def _integers(bits: int) -> st.SearchStrategy[str]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).map(str)


def _decimals(before: int, behind: int) -> st.SearchStrategy[str]:
    """Numbers of every magnitude, of which so many digits fit before and behind the point."""
    magnitudes = st.integers(0, before + behind)
    numbers = magnitudes.flatmap(lambda digits: st.integers(1 - 10**digits, 10**digits - 1))
    return numbers.map(lambda number: f"{Decimal((number < 0, _digits(number), -behind)):f}")


def _digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(number))))


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
FLOATS = st.sampled_from(["NaN", "Infinity", "-Infinity", "-0", "0"])
CLOCKS = st.integers(0, 86_400_000_000).map(_clock)
INFINITE = st.sampled_from(["infinity", "-infinity"])
FAR_DAYS = st.sampled_from(["4714-11-24 BC", "0001-12-31 BC", "10000-01-01", "5874897-12-31"])
DAYS = st.dates().map(str) | INFINITE | FAR_DAYS
ZONES = st.integers(-57_599, 57_599).map(
    lambda east: f"{'-' if east < 0 else '+'}{_clock(abs(east) * 10**6)[:8]}"
)
FAR_MOMENTS = st.sampled_from(
    [
        "4714-11-24 00:00:00 BC",
        "0001-12-31 23:59:59.999999 BC",
        "10000-01-01 00:00:00.5",
        "294246-12-31",
    ]
)
MOMENTS = st.datetimes().map(str) | FAR_MOMENTS
INTERVALS = st.builds(
    "{} months {} days {} microseconds".format,
    st.integers(1 - 2**31, 2**31 - 1),
    st.integers(1 - 2**31, 2**31 - 1),
    st.integers(-(10**10), 10**10) | st.integers(1 - 2**63, 2**63 - 1),
)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
).map(json.dumps)

DIGITS = st.from_regex("[0-9]{0,40}", fullmatch=True)
NUMBERS = st.builds(
    "{}{}.{}".format, st.sampled_from(["", "-"]), st.from_regex("[0-9]{1,60}", fullmatch=True), DIGITS
) | st.sampled_from(
    ["NaN", "1e-30", "-1e-19", "1e200", "-0.00", "2.50", "1e20", "0.1234567890123456785", "1e-1000"]
)
NUMBER = "trim_scale(v)::text"
DAY = """
    CASE v WHEN 'infinity' THEN '2147483647' WHEN '-infinity' THEN '-2147483648'
        ELSE (v - date '1970-01-01')::text END
"""
MICROSECONDS = "(extract(epoch FROM v) * 1000000)::int8::text"
MOMENT = f"""
    CASE v WHEN 'infinity' THEN '9223372036854775807' WHEN '-infinity' THEN '-9223372036854775808'
        ELSE {MICROSECONDS} END
"""
PARTS = """
    (extract(year FROM v) * 12 + extract(month FROM v))::int8 || ' ' || extract(day FROM v)::int8 || ' ' ||
    (extract(hour FROM v) * 3600000000 + extract(minute FROM v) * 60000000
        + extract(microsecond FROM v))::int8
"""

SIMPLE = (
    Case("bool", st.sampled_from(["true", "false"])),
    Case("int2", _integers(16)),
    Case("int4", _integers(32)),
    Case("int8", _integers(64)),
    Case("oid", st.integers(0, 2**32 - 1).map(str)),
    Case("float4", FLOATS | st.floats(width=32).map(str), "encode(float4send(v), 'hex')"),
    Case("float8", FLOATS | st.floats().map(str), "encode(float8send(v), 'hex')"),
    Case("numeric", _decimals(20, 18) | NUMBERS),
    Case("numeric(60,5)", _decimals(55, 5)),
    Case("free", _decimals(20, 18) | NUMBERS),
    Case("numeric(15,2)", _decimals(13, 2), NUMBER),
    Case("numeric(38,0)", _decimals(38, 0), NUMBER),
    Case("numeric(38,17)", _decimals(21, 17), NUMBER),
    Case("numeric(38,38)", _decimals(0, 38), NUMBER),
    Case("numeric(7,5)", _decimals(2, 5), NUMBER),
    Case("numeric(3,-2)", st.integers(-99_949, 99_949).map(str), NUMBER),
    Case("numeric(2,6)", st.integers(-99, 99).map(lambda number: f"{number}e-6"), NUMBER),
    Case("text", TEXTS),
    Case("varchar(9)", TEXTS),
    Case("char(9)", TEXTS | TEXTS.map(lambda text: text[:4] + "  ")),
    Case("bpchar", TEXTS | TEXTS.map(lambda text: text[:4] + "  "), "format('%s', v) || left(v, 0)"),
    Case('"char"', st.characters(codec="utf-8", exclude_characters="\0") | st.just("")),
    Case("name", TEXTS),
    Case("bytea", st.binary(max_size=20).map(lambda octets: "\\x" + octets.hex()), "encode(v, 'hex')"),
    Case("date", DAYS, DAY),
    Case("time", CLOCKS, MICROSECONDS),
    Case("timetz", st.builds(str.__add__, CLOCKS, ZONES)),
    Case("timestamp", MOMENTS | INFINITE, MOMENT),
    Case("timestamptz", MOMENTS.map(lambda text: f"{text} UTC") | INFINITE, MOMENT),
    Case("interval", INTERVALS, PARTS),
    Case("uuid", st.uuids().map(str)),
    Case("json", JSONS | JSONS.map(lambda text: f" {text}\n")),
    Case("jsonb", JSONS.filter(lambda text: "\\u0000" not in text)),
    Case("mood", st.sampled_from(["sad", "ok", "very happy", "größer"])),
    Case("price", _decimals(9, 3).map(lambda text: text.lstrip("-"))),
    Case("dearer", _decimals(9, 3).map(lambda text: text.lstrip("-"))),
    Case("word", st.text("aäb ☃", max_size=8)),
)
CASES = (
    *SIMPLE,
    *(case.listed() for case in SIMPLE),
    replace(Case("int4", _integers(32)).listed(), type="numbers"),
)

# What PostgreSQL holds and a batch does not: the type, the value, and whether version 15 has it too.
NOT_STORABLE = (
    ("timestamp", "294276-12-31 23:59:59.999999", True),
    ("timestamptz", "294248-01-01 00:00:00+00", True),
    ("numeric(15,2)", "NaN", True),
    ("int4[]", "{{1,2},{3,4}}", True),
    ("int4[]", "[0:1]={1,2}", True),
    ("text[]", "[2:2]={a}", True),
)
