"""Division of numerics, with as many digits as PostgreSQL gives each quotient.

PostgreSQL chooses the digits by the operands' values: with K(x) = 10000 w + d, where d * 10000^w is the
leading digit of x to the base 10000, the quotient a / b has 16 - 4 * floor((K(a) - K(b) - 1) / 10000) digits
behind the point, and at least as many as either operand shows. Where the types tell how many those are,
Spark's own division gives the digits of all but very large and very small quotients.
"""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import MAX_DIGITS, Decimal
from dialect.spark.numbers.long_division import QUOTIENT, long_quotient
from dialect.spark.numbers.written import number_of, written
from dialect.spark.rendered import Number, Rendered, absolute, cast

MOST_SCALE: Final = 12
"""Operands with more digits behind the point than this are divided by `long_division.py`."""

_SHORT: Final = Decimal(MAX_DIGITS, 24)
_LONG: Final = Decimal(MAX_DIGITS, 25)
_BASE: Final = 10_000
_SIGNIFICANT: Final = 16
_STEPS: Final = range(8, _SHORT.scale + 1, 4)
"""Digits behind the point that Spark's own division gives: with fewer there may be too many before it."""


def divided(left: Rendered, right: Rendered) -> Rendered:
    """The quotient to the digit, and its digits.

    Computing further with one of more than 14 digits before the point, or 24 behind it, is an error.
    """
    scale = max(_decimal(left).scale, _decimal(right).scale)
    assert scale <= MOST_SCALE
    place = f"floor(({_leading(left)} - {_leading(right)} - 1) / {_BASE}BD)"
    digits = f"({_SIGNIFICANT} - 4 * CAST({place} AS INT))"
    steps = [step for step in _STEPS if step >= scale]
    choices = " ".join(f"WHEN {step} THEN {_rounded(left, right, step).sql}" for step in steps)
    signed = (
        f"CASE {digits} {choices} END * CASE WHEN ({left.sql} < 0) = ({right.sql} < 0) THEN 1 ELSE -1 END"
    )
    unknown = f"{left.sql} IS NULL OR {right.sql} IS NULL"
    # The remainder of zero is zero, and an error if the divisor is zero too.
    zeros = f"WHEN {left.sql} = 0 THEN {cast(f'{left.sql} % {right.sql}', _SHORT).sql}"
    short = cast(f"CASE WHEN {unknown} THEN NULL {zeros} ELSE {cast(signed, _SHORT).sql} END", _SHORT)
    shown = f"CASE WHEN {right.sql} <> 0 THEN greatest({scale}, {digits}) END"
    # A zero has no digits, and by zero nothing is divided.
    is_long = f"{left.sql} <> 0 AND {right.sql} <> 0 AND {digits} NOT IN ({', '.join(map(str, steps))})"
    long = long_quotient(left, right)
    quotient = f"CASE WHEN {is_long} THEN {long.sql} ELSE {written(short, shown).sql} END"
    value = f"CASE WHEN {is_long} THEN {number_of(long).value.sql} ELSE {short.sql} END"
    return Rendered(quotient, QUOTIENT, Number(Rendered(value, _SHORT), shown, whole=False))


def _decimal(value: Rendered) -> Decimal:
    assert isinstance(value.storage, Decimal)
    return value.storage


def _rounded(left: Rendered, right: Rendered, digits: int) -> Rendered:
    """The quotient's magnitude rounded to these digits, halves up.

    Spark's own has 25 digits, rounded: where those look like a half, the remainder tells whether it is less.
    """
    quotient = _of_spark(left, right)
    half = f"{quotient.sql} % {_power(digits)} = {_power(digits + 1)} * 5"
    exact = Decimal(MAX_DIGITS, _LONG.scale + _decimal(right).scale)
    rest = cast(f"{absolute(left)} % {absolute(right)}", exact).sql
    fraction = cast(f"{quotient.sql} % 1", Decimal(_LONG.scale, _LONG.scale)).sql
    below = f"{half} AND {rest} < {cast(f'{fraction} * {absolute(right)}', exact).sql}"
    least = f"{quotient.sql} - {_power(_LONG.scale)}"
    return cast(f"round(CASE WHEN {below} THEN {least} ELSE {quotient.sql} END, {digits})", _SHORT)


def _of_spark(left: Rendered, right: Rendered) -> Rendered:
    """The magnitude by Spark's division, which gives 25 digits for operands of these scales."""
    scale = _decimal(right).scale
    dividend = cast(absolute(left), Decimal(MAX_DIGITS, MAX_DIGITS - _LONG.scale + scale))
    divisor = cast(absolute(right), Decimal(MAX_DIGITS, scale))
    return Rendered(f"({dividend.sql} / {divisor.sql})", _LONG)


def _power(digits: int) -> str:
    """Ten to the power of minus `digits`, as SQL."""
    return f"{'0.' + '0' * (digits - 1) if digits else ''}1BD"


def _leading(value: Rendered) -> str:
    """The leading digit to the base 10000 and its place: 10000 * place + digit."""
    size = absolute(value)
    whole = f"CAST(floor({size}) AS STRING)"
    length = f"(char_length({whole}) - 1)"
    above = f"{length} DIV 4 * {_BASE} + CAST(left({whole}, {length} % 4 + 1) AS INT)"
    below = []
    for place in range(1, (_decimal(value).scale + 3) // 4 + 1):
        shifted = f"(({size} * 1{'0' * 4 * place}BD) DIV 1)"
        below.append(f"WHEN {shifted} > 0 THEN {-place * _BASE} + {shifted}")
    return f"CASE WHEN {size} >= 1 THEN {above} {' '.join(below)} ELSE 0 END"
