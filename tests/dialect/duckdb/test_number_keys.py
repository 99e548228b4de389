"""Numerics that have no decimal in DuckDB: compared, ordered, summed and read as PostgreSQL does."""

from __future__ import annotations

from decimal import Context
from decimal import Decimal as Number
from functools import reduce
from operator import eq, ge, gt, le, lt, ne

import pytest

from catalog.postgres import functions
from catalog.postgres.comparisons import COMPARISONS
from catalog.postgres.storage import FREE_NUMERIC, Decimal, ListOf, Written, storage_of
from catalog.postgres.types import FLOAT8, NUMERIC, SqlType
from dialect.duckdb import equality
from dialect.duckdb.equality import extreme, sort_key
from dialect.duckdb.expressions import render
from dialect.duckdb.numbers import number_of_text
from dialect.duckdb.rendered import Rendered
from dialect.expressions.scalar import (
    LONG_SUM,
    Call,
    Cast,
    CastMethod,
    Constant,
    IsDistinct,
    Notation,
    Reference,
    Scalar,
)
from executors.duckdb.database import open_database
from executors.duckdb.key_hash import hashed_storage, key_hash
from tests.support.spark.long_numbers import COLUMNS, PAIRS, SPECIAL, TEXTS, pairs_as_table, results

OPERATORS = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
ARITHMETIC = {"+": functions.NUMERIC_ADD, "-": functions.NUMERIC_SUB, "*": functions.NUMERIC_MUL}
NUMBER = SqlType(NUMERIC)
ARRAY = {1: COLUMNS[1], 2: Rendered("numbers", ListOf(FREE_NUMERIC))}


def place(text: str) -> tuple[int, Number]:
    """By which Python orders numbers as PostgreSQL does."""
    ranks = {"NaN": 2, "Infinity": 1, "-Infinity": -1}
    return (ranks[text], Number(0)) if text in SPECIAL else (0, Number(text))


def answers(sql: str, source: str = "pairs ORDER BY pair") -> list[object]:
    with open_database(2**28) as database:
        database.register("pairs", pairs_as_table())
        return [value for (value,) in database.sql(f"SELECT {sql} FROM {source}").fetchall()]


def of_columns(scalar: Scalar) -> str:
    return render(scalar, COLUMNS, storage_of).sql


def compared(symbol: str, right: Scalar) -> Call:
    function = COMPARISONS[NUMERIC, NUMERIC][symbol]
    return Call(function, symbol, Notation.OPERATOR, (Reference(1, NUMBER), right), 0, SqlType(16))


@pytest.mark.parametrize("symbol", OPERATORS)
def test_comparisons(symbol: str) -> None:
    expected = [
        None if left is None or right is None else OPERATORS[symbol](place(left), place(right))
        for left, right in PAIRS
    ]
    assert answers(of_columns(compared(symbol, Reference(2, NUMBER)))) == expected


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize(
    ("one", "other"),
    [(Decimal(8, 2), Decimal(38, 18)), (Decimal(4, 4), Decimal(12, 2)), (Decimal(38, 0), Decimal(38, 18))],
)
def test_comparisons_of_other_decimals(symbol: str, one: Decimal, other: Decimal) -> None:
    """A number without the one decimal may have the other."""
    sides = [
        number_of_text(f"{COLUMNS[number].sql}.text", Written(decimal))
        for number, decimal in ((1, one), (2, other))
    ]
    expected = [
        None if left is None or right is None else OPERATORS[symbol](place(left), place(right))
        for left, right in PAIRS
    ]
    assert answers(equality.compared(symbol, *sides)) == expected


@pytest.mark.parametrize(("operator", "function"), ARITHMETIC.items())
def test_arithmetic_with_what_is_no_number(operator: str, function: int) -> None:
    """Beside decimals; what has no number is Spark's where it is a number of too many digits."""
    call = Call(
        function, operator, Notation.OPERATOR, (Reference(1, NUMBER), Reference(2, NUMBER)), 0, NUMBER
    )
    columns = {1: number_of_text(f"{COLUMNS[1].sql}.text", Written(Decimal(12, 4))), 2: COLUMNS[2]}
    short = "c1.text IN ('NaN', 'Infinity', '-Infinity', '0', '1.50', '-2.25')"
    wanted = f"{short} AND {short.replace('c1', 'c2')}"
    sql = render(call, columns, storage_of).sql
    exact = dict(zip(PAIRS, results(operator), strict=True))
    with open_database(2**28) as database:
        database.register("pairs", pairs_as_table())
        rows = database.sql(f"SELECT c1.text, c2.text, ({sql}).text FROM pairs WHERE {wanted}").fetchall()
    assert len(rows) == 36
    for left, right, text in rows:
        expected = exact[left, right]
        assert expected is not None
        assert text == expected["text"]


@pytest.mark.parametrize("constant", ["NaN", "-inf", "1.5", "9" * 40, f"1.{'0' * 50}"])
def test_comparisons_with_constants(constant: str) -> None:
    read = {"-inf": "-Infinity"}.get(constant, constant)
    expected = [None if left is None else place(left) <= place(read) for left, _ in PAIRS]
    assert answers(of_columns(compared("<=", Constant(constant, NUMBER)))) == expected


def test_what_is_distinct() -> None:
    equality = compared("=", Reference(2, NUMBER))
    expected = [
        (left is None) != (right is None)
        or (left is not None and right is not None and place(left) != place(right))
        for left, right in PAIRS
    ]
    assert answers(of_columns(IsDistinct(equality))) == expected


def test_equal_numbers_have_one_hash() -> None:
    storage = hashed_storage(FREE_NUMERIC, FREE_NUMERIC)
    left, right = (key_hash([(COLUMNS[number], storage)]) for number in (1, 2))
    equal = of_columns(compared("=", Reference(2, NUMBER)))
    assert set(answers(f"{left} = {right}", f"pairs WHERE {equal}")) == {True}


def test_the_order() -> None:
    key = f"{sort_key(COLUMNS[1])}, c1.text"
    source = f"(SELECT DISTINCT c1 FROM pairs WHERE c1 IS NOT NULL) ORDER BY {key}"
    known = sorted((text for text in TEXTS if text is not None), key=lambda text: (place(text), text))
    assert answers("c1.text", source) == known


def test_extremes() -> None:
    """Of equal numbers the least or the greatest text."""
    known = sorted((text for text in TEXTS if text is not None), key=lambda text: (place(text), text))
    assert answers(f"({extreme('min', COLUMNS[1], 'TRUE')}).text", "pairs") == [known[0]]
    assert answers(f"({extreme('max', COLUMNS[1], 'TRUE')}).text", "pairs") == [known[-1]]
    near = f"{COLUMNS[1].sql}.text LIKE '1%' AND {COLUMNS[1].sql}.text NOT LIKE '1__%'"
    assert answers(f"({extreme('max', COLUMNS[1], near)}).text", "pairs") == ["1"]


def test_floats() -> None:
    scalar = Cast(Reference(1, NUMBER), CastMethod.FUNCTION, functions.FLOAT8_NUMERIC, SqlType(FLOAT8))
    expected = [None if left is None else float(left) for left, _ in PAIRS]
    assert list(map(str, answers(of_columns(scalar)))) == list(map(str, expected))


def test_sums() -> None:
    """Without zeros at their ends, of a decimal and of any numbers."""
    finite = [text for text in TEXTS if text is not None and text not in SPECIAL]
    arguments = (Reference(1, NUMBER), Reference(2, NUMBER))
    call = Call(LONG_SUM, "long_sum", Notation.FUNCTION, arguments, 0, NUMBER)
    sql = render(call, ARRAY, storage_of).sql
    numbers = "(SELECT list(DISTINCT c1) FROM pairs WHERE c1.text NOT IN ('NaN', 'Infinity', '-Infinity'))"
    source = f"(SELECT c1, {numbers} AS numbers FROM pairs WHERE c1.text = '-2.25' LIMIT 1)"
    [total] = answers(f"({sql}).text", source)
    assert isinstance(total, str)
    assert Number(total) == reduce(Context(prec=500).add, map(Number, finite), Number("-2.25"))
    assert not total.endswith("0")
