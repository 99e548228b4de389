"""PostgreSQL's numeric: exact, and where a result is cut off, with exactly its digits."""

from __future__ import annotations

from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
)
from functools import reduce
from typing import Final

from catalog.errors import DivisionByZero
from catalog.postgres.storage import FREE_SCALE
from dialect.expressions.quotient import divide
from dialect.expressions.scalar import (
    BEYOND,
    LONG_ADD,
    LONG_MULTIPLY,
    LONG_SUBTRACT,
    LONG_SUM,
    MOST_BEFORE,
    SHOWN,
)
from executors.reference.values.values import Definitions

_WIDE: Final = Context(prec=200_000, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_HALF_UP)


def scale(value: Decimal) -> int:
    """The digits shown behind the point."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "neither NaN nor infinite"
    return max(0, -exponent)


def rescaled(value: Decimal, digits: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """The value with so many digits behind the point, if negative so many zeros before it.

    Halves go away from zero.
    """
    cut = value.quantize(Decimal(1).scaleb(-digits), rounding, _WIDE)
    return _plain(cut if digits >= 0 else cut.quantize(Decimal(1), context=_WIDE))


def add(left: Decimal, right: Decimal) -> Decimal:
    """The exact sum; it shows as many digits as the longer one."""
    return _WIDE.add(left, right)


def subtract(left: Decimal, right: Decimal) -> Decimal:
    """The exact difference."""
    return _WIDE.subtract(left, right)


def multiply(left: Decimal, right: Decimal) -> Decimal:
    """The exact product."""
    return _plain(_WIDE.multiply(left, right))


def square_root_to(value: Decimal, digits: int) -> Decimal:
    """The square root with so many digits behind the point."""
    return rescaled(value.sqrt(Context(prec=digits + abs(value.adjusted()) + 20)), digits)


def truncated_quotient(left: Decimal, right: Decimal) -> Decimal:
    """The quotient as a whole number."""
    _check_divisor(right)
    return _plain(_WIDE.divide_int(left, right))


def remainder(left: Decimal, right: Decimal) -> Decimal:
    """What the truncated division leaves: its sign is the left one's."""
    _check_divisor(right)
    return _plain(_WIDE.remainder(left, right))


def _check_divisor(divisor: Decimal) -> None:
    if divisor == 0:
        raise DivisionByZero("division by zero")


def trimmed(value: Decimal) -> Decimal:
    """The value without the zeros at its end."""
    if not value.is_finite():
        return value
    short = value.normalize(_WIDE)
    return _plain(short if scale(short) else short.quantize(Decimal(1), context=_WIDE))


def shown(value: Decimal, digits: int) -> Decimal:
    """The value with so many digits behind the point, of which it has no more."""
    return rescaled(value, digits) if value.is_finite() else value


def beyond(value: Decimal) -> Decimal | None:
    """The value if it is a number that is too long to be summed as a decimal."""
    fits = abs(value) < 10**MOST_BEFORE and trimmed(value) == rescaled(value, FREE_SCALE)
    return None if not value.is_finite() or fits else value


def _plain(value: Decimal) -> Decimal:
    """The value without a sign on a zero."""
    return value if value else value.copy_abs()


NUMERICS: Final[Definitions] = {
    1724: ("numeric_add", add),
    1725: ("numeric_sub", subtract),
    1726: ("numeric_mul", multiply),
    1727: ("numeric_div", divide),
    1729: ("numeric_mod", remainder),
    1728: ("mod", remainder),
    1973: ("div", truncated_quotient),
    1771: ("numeric_uminus", lambda value: _plain(_WIDE.minus(value))),
    1915: ("numeric_uplus", lambda value: value),
    1704: ("numeric_abs", Decimal.copy_abs),
    1705: ("abs", Decimal.copy_abs),
    1706: ("sign", lambda value: Decimal((value > 0) - (value < 0))),
    1707: ("round", rescaled),
    1708: ("round", lambda value: rescaled(value, 0)),
    1709: ("trunc", lambda value, digits: rescaled(value, digits, ROUND_DOWN)),
    1710: ("trunc", lambda value: rescaled(value, 0, ROUND_DOWN)),
    1711: ("ceil", lambda value: rescaled(value, 0, ROUND_CEILING)),
    2167: ("ceiling", lambda value: rescaled(value, 0, ROUND_CEILING)),
    1712: ("floor", lambda value: rescaled(value, 0, ROUND_FLOOR)),
    3281: ("scale", lambda value: scale(value) if value.is_finite() else None),
    5043: ("trim_scale", trimmed),
    SHOWN: ("round", shown),
    BEYOND: ("beyond", beyond),
    LONG_ADD: ("+", add),
    LONG_SUBTRACT: ("-", subtract),
    LONG_MULTIPLY: ("*", multiply),
    LONG_SUM: ("long_sum", lambda total, numbers: trimmed(reduce(add, numbers, total))),
}
