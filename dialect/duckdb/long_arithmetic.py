"""Sums, differences and products of numerics of any length: in Python, on their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import reduce
from typing import Final

from catalog.postgres import functions
from catalog.postgres.storage import FREE_NUMERIC, ListOf, Written
from dialect.duckdb.numbers import (
    NUMERICS,
    converted,
    has_texts_alone,
    number_of_text,
    text_of,
    trimmed,
)
from dialect.duckdb.rendered import Builder, NotWritten, Rendered, once
from dialect.expressions.constant_text import SPECIAL_TEXTS
from dialect.expressions.scalar import (
    BEYOND,
    LONG_ADD,
    LONG_MULTIPLY,
    LONG_SUBTRACT,
    LONG_SUM,
    MOST_BEFORE,
    Call,
)

ARITHMETIC_FUNCTION: Final = "gavial_arithmetic"
"""The name under which `arithmetic_text` is known in a database."""

SUM_FUNCTION: Final = "gavial_sum"
"""The name under which `sum_text` is known in a database."""

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


def _of_specials_too(operator: str) -> Builder:
    """By decimals, which an operand that is NaN or infinite has none of: then the outcome has none either."""

    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        result = NUMERICS[_BY_DECIMALS[operator]](call, arguments)
        texts = list(map(text_of, arguments))
        special = [
            f"{text} IN {SPECIAL_TEXTS}"
            for text, argument in zip(texts, arguments, strict=True)
            if has_texts_alone(argument)
        ]
        if not special or not isinstance(result.storage, Written) or result.number is None:
            return result
        outcome = number_of_text(f"{ARITHMETIC_FUNCTION}('{operator}', {', '.join(texts)})", result.storage)
        sql = f"CASE WHEN {' OR '.join(special)} THEN {outcome.sql} ELSE {result.sql} END"
        return Rendered(sql, result.storage, replace(result.number, whole=False))

    return build


def beyond(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """A number, if it is too long to be summed as a decimal; else NULL, as NaN and the infinities are."""
    [value] = arguments
    if not isinstance(value.storage, Written):
        raise NotWritten("beyond of a decimal")
    limit = f"CAST(1{'0' * MOST_BEFORE} AS DECIMAL(38, 0))"

    def outcome(one: str) -> str:
        short = f"abs(({one}).value) < {limit} OR ({one}).text IN {SPECIAL_TEXTS}"
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


_BY_DECIMALS: Final = {
    "+": functions.NUMERIC_ADD,
    "-": functions.NUMERIC_SUB,
    "*": functions.NUMERIC_MUL,
}
LONG_NUMBERS: Final[Mapping[int, Builder]] = {
    **{function: _of_specials_too(operator) for operator, function in _BY_DECIMALS.items()},
    BEYOND: beyond,
    LONG_SUM: long_sum,
    LONG_ADD: _of_any_length("+"),
    LONG_SUBTRACT: _of_any_length("-"),
    LONG_MULTIPLY: _of_any_length("*"),
}
