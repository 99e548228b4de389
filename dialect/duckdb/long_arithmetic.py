"""Sums, differences and products of numerics of any length: in Python, on their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import reduce
from typing import Final

from catalog.postgres import storage as stored
from catalog.postgres.storage import FREE_NUMERIC, ListOf, Written
from dialect.duckdb.numbers import SPECIAL, converted, text_of, trimmed
from dialect.duckdb.rendered import Builder, NotWritten, Rendered, duckdb_type, named, once
from dialect.expressions.scalar import BEYOND, LONG_ADD, LONG_MULTIPLY, LONG_SUBTRACT, LONG_SUM, Call

ARITHMETIC_FUNCTION: Final = "gavial_arithmetic"
"""The name under which `arithmetic_text` is known in a database."""

SUM_FUNCTION: Final = "gavial_sum"
"""The name under which `sum_text` is known in a database."""

MOST_BEFORE: Final = 12
"""A number of more digits before the point is not summed as a decimal."""

_EXACT: Final = Context(prec=200_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""What has no result, as Infinity - Infinity, is NaN here, as in PostgreSQL."""

_OPERATIONS: Final[Mapping[str, Callable[[Decimal, Decimal], Decimal]]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
}


def arithmetic_text(operator: str, left: str, right: str) -> str:
    """What an operator makes of two numbers, as PostgreSQL writes it; zero has no sign."""
    result = _OPERATIONS[operator](Decimal(left), Decimal(right))
    return f"{result if result else result.copy_abs():f}"


def sum_text(numbers: Sequence[str]) -> str:
    """The sum of numbers, without zeros at its end."""
    total = f"{reduce(_EXACT.add, map(Decimal, numbers)):f}"
    return total.rstrip("0").rstrip(".") if "." in total else total


def _of_any_length(operator: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        texts = ", ".join(map(text_of, arguments))
        return number_of_text(f"{ARITHMETIC_FUNCTION}('{operator}', {texts})", FREE_NUMERIC)

    return build


def number_of_text(text: str, storage: Written) -> Rendered:
    """A number by its text, with its decimal where it has one."""
    assert isinstance(storage.value, stored.Decimal)
    behind = "length(rtrim(split_part(result, '.', 2), '0'))"
    read = f"TRY_CAST(result AS {duckdb_type(storage.value)})"
    value = f"CASE WHEN {behind} <= {storage.value.scale} THEN {read} END"
    struct = f"CASE WHEN result IS NOT NULL THEN struct_pack(value := {value}, text := result) END"
    return Rendered(f"CAST({named('result', text, struct)} AS {duckdb_type(storage)})", storage)


def beyond(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """A number, if it is too long to be summed as a decimal; else NULL, as NaN and the infinities are."""
    [value] = arguments
    if not isinstance(value.storage, Written):
        raise NotWritten("beyond of a decimal")
    limit = f"CAST(1{'0' * MOST_BEFORE} AS DECIMAL(38, 0))"

    def outcome(one: str) -> str:
        short = f"abs(({one}).value) < {limit} OR ({one}).text IN {SPECIAL}"
        return f"CASE WHEN {short} THEN NULL ELSE {one} END"

    return Rendered(once(value.sql, outcome), value.storage)


def long_sum(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """A sum and further numbers, none of them NULL, NaN or infinite; without zeros at its end."""
    total, numbers = arguments
    if not isinstance(numbers.storage, ListOf) or not isinstance(numbers.storage.element, Written):
        raise NotWritten("a sum of long numbers")
    storage = numbers.storage.element
    short = converted(trimmed(total), storage).sql
    texts = f"list_prepend({text_of(total)}, list_transform({numbers.sql}, lambda number: number.text))"
    long = number_of_text(f"{SUM_FUNCTION}({texts})", storage).sql
    return Rendered(
        f"CASE WHEN {numbers.sql} IS NULL THEN NULL WHEN len({numbers.sql}) = 0 THEN {short} ELSE {long} END",
        storage,
    )


LONG_NUMBERS: Final[Mapping[int, Builder]] = {
    BEYOND: beyond,
    LONG_SUM: long_sum,
    LONG_ADD: _of_any_length("+"),
    LONG_SUBTRACT: _of_any_length("-"),
    LONG_MULTIPLY: _of_any_length("*"),
}
