"""Division of numerics to PostgreSQL's digits, in Python."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Final

from catalog.errors import DivisionByZero

_LEAST_DIGITS: Final = 16
_MOST_DIGITS_BEHIND: Final = 1000
_DIGITS_OF_A_WORD: Final = 4
_WIDE: Final = Context(prec=200_000, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_HALF_UP)


def divide(left: Decimal, right: Decimal) -> Decimal:
    """The quotient with at least 16 significant digits, counted in words of four, and all that were shown."""
    if right == 0:
        raise DivisionByZero("division by zero")
    digits = digits_of_quotient(left, right)
    shift = max(_scale(left), _scale(right))
    dividend, divisor = int(left.scaleb(shift + digits, _WIDE)), int(right.scaleb(shift, _WIDE))
    magnitude = (2 * abs(dividend) + abs(divisor)) // (2 * abs(divisor))
    return Decimal(magnitude if (dividend < 0) is (divisor < 0) else -magnitude).scaleb(-digits, _WIDE)


def digits_of_quotient(left: Decimal, right: Decimal) -> int:
    """How many digits behind the point a quotient has."""
    weight, word = _first_word(left)
    divisor_weight, divisor_word = _first_word(right)
    quotient_weight = weight - divisor_weight - (word <= divisor_word)
    digits = max(_LEAST_DIGITS - quotient_weight * _DIGITS_OF_A_WORD, _scale(left), _scale(right), 0)
    return min(digits, _MOST_DIGITS_BEHIND)


def _scale(value: Decimal) -> int:
    """The digits shown behind the point."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "neither NaN nor infinite"
    return max(0, -exponent)


def _first_word(value: Decimal) -> tuple[int, int]:
    """Which power of 10,000 the value's first digit to that base counts, and the digit; of zero 0 and 0."""
    if value == 0:
        return 0, 0
    weight = value.adjusted() // _DIGITS_OF_A_WORD
    return weight, int(value.copy_abs().scaleb(-weight * _DIGITS_OF_A_WORD, _WIDE))
