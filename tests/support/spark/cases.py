"""What is compared between PostgreSQL and Spark: every function and cast of the tables, on edge values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from catalog.postgres.storage import Storage, storage_of
from catalog.postgres.types import (
    ANY,
    ANYENUM,
    BPCHAR,
    INT2,
    INT4,
    INT8,
    NO_TYPMOD,
    NUMERIC,
    TEXT,
    VARCHAR,
    SqlType,
)
from dialect.expressions.scalar import Call, Cast, CastMethod, Constant, Notation, Reference, Scalar
from dialect.spark.casts import FUNCTIONS as CASTS
from dialect.spark.comparisons import COMPARISONS
from dialect.spark.expressions import render
from dialect.spark.functions import FUNCTIONS
from dialect.spark.numbers.numerics import NUMERICS
from dialect.spark.rendered import Rendered
from tests.support.spark.values import EDGES, NO_DECIMALS

C: Final = 950
TEXTS: Final = (TEXT, VARCHAR, BPCHAR)
CONCAT: Final = 3058
DIVISION: Final = 1727
SIGNED: Final = (1704, 1705, 1771)
ANY_NUMBER: Final = SqlType(NUMERIC)
MOST_ROWS: Final = 400

# Arguments that Spark wants to know beforehand: oid of the function, place of the argument, values.
CONSTANTS: Final[dict[int, tuple[int, tuple[str, ...]]]] = {
    **dict.fromkeys(
        (850, 851, 1569, 1570, 1631, 1632),
        (
            1,
            ("", "%", "a%", "%a", "_", "a_", "\\%", "a\\%", "\\a", "\\\\", "a  %", "%b%", "${x}", "'", "😀_"),
        ),
    ),
    **dict.fromkeys(
        (6199, 1384), (0, ("year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "epoch"))
    ),
    **dict.fromkeys(
        (6202, 2021),
        (0, ("year", "dow", "week", "hour", "minute", "second", "milliseconds", "microseconds", "epoch")),
    ),
    2020: (
        0,
        (
            "year",
            "quarter",
            "month",
            "week",
            "day",
            "hour",
            "minute",
            "second",
            "milliseconds",
            "microseconds",
        ),
    ),
    **dict.fromkeys((1707, 1709), (1, ("0", "2", "-1", "6", "-20"))),
}


def packed(precision: int, scale: int) -> SqlType:
    """numeric(precision, scale)."""
    return SqlType(NUMERIC, (precision << 16 | scale) + 4)


LONGEST: Final = packed(38, 0)


def sized(oid: int, length: int, collation: int = C) -> SqlType:
    """varchar(length) or character(length)."""
    return SqlType(oid, length + 4, collation)


@dataclass(frozen=True)
class Case:
    """An expression over columns of these types; `written` for PostgreSQL, with {0} and so on for them."""

    name: str
    written: str
    scalar: Scalar
    arguments: tuple[SqlType, ...]

    @property
    def rendered(self) -> Rendered:
        columns = {place: Rendered(f"c{place}", storage) for place, storage in enumerate(self.storages)}
        return render(self.scalar, columns)

    @property
    def storages(self) -> tuple[Storage, ...]:
        return tuple(storage_of(argument) for argument in self.arguments)

    def rows(self) -> list[tuple[str | None, ...]]:
        """Edge values for the arguments in every combination, evenly fewer where that is too many."""
        found = list(product(*(edges(argument) for argument in self.arguments)))
        step = -(-len(found) // MOST_ROWS)
        return [row for row in found[::step] if not (None in row and has_no_decimal(row))]


def has_no_decimal(row: Sequence[str | None]) -> bool:
    """Whether a number is among these that a batch has only the text of."""
    return any(value in NO_DECIMALS for value in row)


def edges(type_: SqlType) -> tuple[str | None, ...]:
    values = EDGES[type_.oid]
    if type_.oid == INT4:
        return (None, *values, "2", "-2", "5")
    if type_ == ANY_NUMBER:
        return (None, *values, *NO_DECIMALS, "2.50", "-1.000", "1.5000000000000000000000", "0.00", "1e15")
    if type_ == LONGEST:
        return (None, "0", "-5", "9" * 38, f"-{'9' * 38}", "-12345678901234567890123456789012345678")
    return (None, *values)


def function_cases(signatures: Sequence[tuple[int, str, list[int], int]]) -> Iterator[Case]:
    """Cases for each function of the tables, given pg_proc's oid, name, arguments and result."""
    for oid, name, arguments, result in signatures:
        if oid in FUNCTIONS and ANYENUM not in arguments:
            given = [TEXT if argument == ANY else argument for argument in arguments]
            for types in _variants(oid, given * 2 if oid == CONCAT else given):
                yield from _calls(oid, name, types, result)
        if oid in CASTS:
            (source,) = arguments
            reference = Reference(0, typed(source))
            cast = Cast(reference, CastMethod.FUNCTION, oid, replace(typed(result), typmod=NO_TYPMOD))
            yield Case(f"cast {name} {oid}", f'pg_catalog."{name}"({{0}})', cast, (typed(source),))


def typed(oid: int) -> SqlType:
    """The type as the cases have it: text under C, numbers with four digits behind the point."""
    if oid in TEXTS:
        return SqlType(oid, 9 if oid == BPCHAR else -1, C)
    return packed(15, 4) if oid == NUMERIC else SqlType(oid)


def _variants(oid: int, arguments: Sequence[int]) -> Iterator[tuple[SqlType, ...]]:
    yield tuple(map(typed, arguments))
    if NUMERIC in arguments and (oid in NUMERICS or oid in COMPARISONS) and oid != DIVISION:
        yield tuple(ANY_NUMBER if argument == NUMERIC else typed(argument) for argument in arguments)
    if oid in SIGNED:
        yield (LONGEST,)


def _calls(oid: int, name: str, types: tuple[SqlType, ...], result: int) -> Iterator[Case]:
    place, values = CONSTANTS.get(oid, (len(types), ("",)))
    rest = tuple(type_ for number, type_ in enumerate(types) if number != place)
    for value in values:
        references: list[Scalar] = [Reference(number, type_) for number, type_ in enumerate(rest)]
        written = [f"{{{number}}}" for number in range(len(rest))]
        if place < len(types):
            references.insert(place, Constant(value, types[place]))
            written.insert(place, literal(value, types[place]).replace("{", "{{").replace("}", "}}"))
        call = Call(oid, name, Notation.FUNCTION, tuple(references), C, SqlType(result))
        shown = (
            f"{name} {oid} {value} {'free' if ANY_NUMBER in types else 'longest' if LONGEST in types else ''}"
        )
        yield Case(shown.strip(), f'pg_catalog."{name}"({", ".join(written)})', call, rest)


def cast_cases() -> Iterator[Case]:
    """Casts that no function does, or that apply a modifier."""
    for type_, modifiers in (
        (NUMERIC, (packed(5, 2), packed(38, 0), packed(10, 4))),
        (VARCHAR, (sized(VARCHAR, 1), sized(VARCHAR, 3))),
        (BPCHAR, (sized(BPCHAR, 1), sized(BPCHAR, 3))),
    ):
        for target in modifiers:
            source = SqlType(type_, -1, C) if type_ == VARCHAR else typed(type_)
            cast = Cast(Reference(0, source), CastMethod.LENGTH, 1, target)
            yield Case(f"length {target}", f"{{0}}::{type_name(target)}", cast, (source,))
    for integer in (INT2, INT4, INT8):
        for pair in ((integer, TEXT), (TEXT, integer)):
            before, after = map(typed, pair)
            cast = Cast(Reference(0, before), CastMethod.TEXT, 0, after)
            yield Case(f"text {pair}", f"{{0}}::{type_name(after)}", cast, (before,))


NAMES: Final = {
    16: "bool",
    17: "bytea",
    18: '"char"',
    19: "name",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    26: "oid",
    700: "float4",
    701: "float8",
    1042: "bpchar",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1700: "numeric",
    2950: "uuid",
    3802: "jsonb",
}


def type_name(type_: SqlType) -> str:
    """The type as PostgreSQL reads it."""
    if type_.typmod < 0:
        return f"pg_catalog.{NAMES[type_.oid]}"
    modifier = type_.typmod - 4
    if type_.oid == NUMERIC:
        return f"numeric({modifier >> 16}, {modifier & 0x7FF})"
    return f"{'character' if type_.oid == BPCHAR else NAMES[type_.oid]}({modifier})"


def literal(value: str | None, type_: SqlType) -> str:
    """The value as PostgreSQL reads it; text under the collation C."""
    quoted = "NULL" if value is None else "'" + value.replace("'", "''") + "'"
    collate = ' COLLATE "C"' if type_.oid in TEXTS else ""
    return f"({quoted}::{type_name(type_)}{collate})"
