"""Division of numerics, with as many digits as PostgreSQL gives each quotient.

PostgreSQL chooses the digits by the operands' values: with K(x) = 10000 w + d, where d * 10000^w is the
leading digit of x to the base 10000, the quotient a / b has 16 - 4 * floor((K(a) - K(b) - 1) / 10000) digits
behind the point, and at least as many as either operand shows. How many an operand shows is not stored, only
how many it may have; where that could matter, the division is an error.
"""

from __future__ import annotations

from typing import Final

from catalog.storage import MAX_DIGITS, Decimal
from dialect.spark_rendered import Rendered, cast, unsupported

MOST_SCALE: Final = 12
"""Operands with more digits behind the point than this are not divided."""

QUOTIENT: Final = Decimal(MAX_DIGITS, 24)
_LONG: Final = Decimal(MAX_DIGITS, 25)
_BASE: Final = 10_000
_SIGNIFICANT: Final = 16
_CHUNKS: Final = (9, 9, 7)
_STEPS: Final = range(0, QUOTIENT.scale + 1, 4)


def divided(left: Rendered, right: Rendered) -> Rendered:
    """The quotient to the digit; more than 13 digits before the point or 24 behind it are an error."""
    scale = max(_decimal(left).scale, _decimal(right).scale)
    if scale > MOST_SCALE:
        raise unsupported(
            f"a division of numerics of more than {MOST_SCALE} digits behind the point",
            f"Cast them to numeric(p, s), s at most {MOST_SCALE}.",
        )
    digits = (
        f"({_SIGNIFICANT} - 4 * CAST(floor(({_leading(left)} - {_leading(right)} - 1) / {_BASE}BD) AS INT))"
    )
    units = " ".join(f"WHEN {step} THEN {_power(-step)}" for step in _STEPS if step >= scale)
    lacking = "raise_error('22003: a quotient has too many or too few digits')"
    unit = f"CASE {digits} {units} ELSE {lacking} END"
    half_up = f"({_truncated(left, right)} + {cast(f'({unit}) * 0.5BD', _LONG).sql})"
    magnitude = f"({half_up} - {half_up} % {cast(unit, _LONG).sql})"
    signed = f"CASE WHEN ({left.sql} < 0) = ({right.sql} < 0) THEN {magnitude} ELSE -{magnitude} END"
    # The remainder of zero is zero, and an error if the divisor is zero too.
    zero = f"{left.sql} % {right.sql}"
    unknown = f"{left.sql} IS NULL OR {right.sql} IS NULL"
    zeros = f"WHEN {left.sql} = 0 THEN {cast(zero, QUOTIENT).sql}"
    return cast(f"CASE WHEN {unknown} THEN NULL {zeros} ELSE {signed} END", QUOTIENT)


def _decimal(value: Rendered) -> Decimal:
    assert isinstance(value.storage, Decimal)
    return value.storage


def _power(exponent: int) -> str:
    """A power of ten as a number of `_LONG`."""
    written = str(10**exponent) if exponent >= 0 else f"{10.0**exponent:.{-exponent}f}"
    return cast(f"'{written}'", _LONG).sql


def _leading(value: Rendered) -> str:
    """The leading digit to the base 10000 and its place: 10000 * place + digit."""
    size = f"abs({value.sql})"
    whole = f"CAST(floor({size}) AS STRING)"
    length = f"(char_length({whole}) - 1)"
    above = f"{length} DIV 4 * {_BASE} + CAST(left({whole}, {length} % 4 + 1) AS INT)"
    below = []
    for place in range(1, (_decimal(value).scale + 3) // 4 + 1):
        shifted = f"(({size} * 1{'0' * 4 * place}BD) DIV 1)"
        below.append(f"WHEN {shifted} > 0 THEN {-place * _BASE} + {shifted}")
    return f"CASE WHEN {size} >= 1 THEN {above} {' '.join(below)} ELSE 0 END"


def _truncated(left: Rendered, right: Rendered) -> str:
    """The quotient's magnitude cut off after 25 digits, by long division."""
    divisor = f"abs({right.sql})"
    total = cast(f"(abs({left.sql}) DIV {divisor})", _LONG).sql
    rest = f"(abs({left.sql}) % {divisor})"
    done = 0
    for chunk in _CHUNKS:
        done += chunk
        shifted = f"({rest} * 1{'0' * chunk}BD)"
        digits = cast(f"({shifted} DIV {divisor})", Decimal(chunk, 0)).sql
        total += f" + {cast(f'{digits} * {_fraction(done)}', _LONG).sql}"
        rest = f"({shifted} % {divisor})"
    return f"({total})"


def _fraction(digits: int) -> str:
    return cast(f"'0.{'0' * (digits - 1)}1'", Decimal(digits, digits)).sql
