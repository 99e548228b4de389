"""Numerics as DuckDB shows them: PostgreSQL's texts, to the digit."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from catalog.postgres import functions
from catalog.postgres.storage import FREE_NUMERIC, storage_of
from catalog.postgres.storage import Decimal as DecimalStorage
from catalog.postgres.types import DEFAULT_COLLATION, NUMERIC, TEXT, SqlType
from dialect.duckdb.expressions import render
from dialect.duckdb.numbers import converted, text_of
from dialect.duckdb.rendered import NotWritten, Rendered
from dialect.expressions.quotient import divide
from dialect.expressions.scalar import (
    Branch,
    Call,
    Case,
    Cast,
    CastMethod,
    Constant,
    IsNull,
    Notation,
    Reference,
    Scalar,
)
from executors.duckdb.database import open_database
from sources.decode.arrow import arrow_type

NUMBER = SqlType(NUMERIC)
FREE = SqlType(NUMERIC, wide=True)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(2**28) as connection:
        yield connection


def shown(database: duckdb.DuckDBPyConnection, scalar: Scalar) -> str | None:
    """The text of a numeric."""
    value = render(scalar, {}, storage_of)
    stored = converted(value, FREE_NUMERIC)
    (row,) = database.sql(f"SELECT {text_of(stored)} AS t FROM (SELECT 1) AS x").to_arrow_table().to_pylist()
    text: str | None = row["t"]
    return text


def call(function: int, *arguments: Scalar) -> Call:
    return Call(function, "function", Notation.FUNCTION, arguments, 0, NUMBER)


def number(text: str) -> Constant:
    return Constant(text, NUMBER)


def free(text: str) -> Rendered:
    """A numeric without a modifier, as it is stored."""
    struct = f"struct_pack(value := CAST('{text}' AS DECIMAL(38, 18)), text := '{text}')"
    return Rendered(struct, FREE_NUMERIC)


@pytest.mark.parametrize("text", ["0.5", "0.25", "-0.5", "0.00", "0", "1.50", "-12.340"])
def test_a_constant_is_shown_as_it_is_written(database: duckdb.DuckDBPyConnection, text: str) -> None:
    assert shown(database, number(text)) == text


@pytest.mark.parametrize(
    ("text", "trimmed"), [("0.20", "0.2"), ("0.00", "0"), ("-0.50", "-0.5"), ("10.0", "10"), ("0.5", "0.5")]
)
def test_zeros_at_the_end_are_trimmed(database: duckdb.DuckDBPyConnection, text: str, trimmed: str) -> None:
    assert shown(database, call(functions.TRIM_SCALE, number(text))) == trimmed


def test_branches_of_different_digits(database: duckdb.DuckDBPyConnection) -> None:
    is_missing = IsNull(Constant(None, NUMBER))
    case = Case((Branch(is_missing, number("0.5")),), number("0.25"), NUMBER)
    assert shown(database, case) == "0.5"


@pytest.mark.parametrize("text", ["0.25", "-0.25", "0.00"])
def test_a_decimal_without_digits_before_the_point_as_text(
    database: duckdb.DuckDBPyConnection, text: str
) -> None:
    table = pa.table([pa.array([Decimal(text)], arrow_type(DecimalStorage(2, 2)))], names=["c1"])
    database.register("fractions", table)
    column = Rendered("c1", DecimalStorage(2, 2))
    cast = Cast(
        Reference(1, SqlType(NUMERIC, (2 << 16 | 2) + 4)),
        CastMethod.TEXT,
        0,
        SqlType(TEXT, -1, DEFAULT_COLLATION),
    )
    value = render(cast, {1: column}, storage_of)
    assert database.sql(f"SELECT {value.sql} FROM fractions").fetchall() == [(text,)]


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [
        ("10.0", "3", "3.3333333333333333"),
        ("1.10", "2", "0.55000000000000000000"),
        ("0", "7.000", "0.00000000000000000000"),
    ],
)
def test_a_quotient_has_the_digits_of_numbers_as_they_are_written(
    database: duckdb.DuckDBPyConnection, dividend: str, divisor: str, quotient: str
) -> None:
    division = call(functions.NUMERIC_DIV, Reference(1, FREE), Reference(2, FREE))
    value = render(division, {1: free(dividend), 2: free(divisor)}, storage_of)
    assert database.sql(f"SELECT {text_of(value)}").fetchall() == [(quotient,)]


def test_the_first_digits_of_a_long_dividend_are_not_rounded() -> None:
    """The first word of the dividend is 9999, though the next digits are nines too."""
    quotient = divide(Decimal("99999999.999999999999999999999"), Decimal("9999000000000000"))
    assert quotient.as_tuple().exponent == -28


def test_a_number_of_more_digits_than_a_decimal_is_not_rounded_here() -> None:
    cast = Cast(number("1.0056"), CastMethod.LENGTH, 1703, SqlType(NUMERIC, (50 << 16 | 2) + 4))
    with pytest.raises(NotWritten):
        render(cast, {}, storage_of)
