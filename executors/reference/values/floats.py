"""PostgreSQL's float4 and float8: overflow and underflow are errors, NaN is one value."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

from catalog.errors import DivisionByZero, InvalidPowerArgument, NumericValueOutOfRange
from executors.reference.values.values import Definitions


def single(value: float) -> float:
    """The nearest float4."""
    try:
        return _checked(struct.unpack("f", struct.pack("f", value))[0], value)
    except OverflowError:
        raise NumericValueOutOfRange("value out of range: overflow") from None


def quotient(left: float, right: float) -> float:
    """Division; by zero only NaN can be divided."""
    if right == 0 and not math.isnan(left):
        raise DivisionByZero("division by zero")
    return _checked(left / right if right else math.nan, left, right, zero=left == 0 or math.isinf(right))


def product(left: float, right: float) -> float:
    """Multiplication; it may not vanish."""
    return _checked(left * right, left, right, zero=left == 0 or right == 0)


def power(base: float, exponent: float) -> float:
    """The base to the power of the exponent."""
    if base == 0 and exponent < 0:
        raise InvalidPowerArgument("zero raised to a negative power is undefined")
    if base < 0 and not exponent.is_integer() and not math.isinf(exponent) and not math.isnan(exponent):
        raise InvalidPowerArgument("a negative number raised to a non-integer power yields a complex result")
    try:
        return _checked(
            math.pow(base, exponent),
            base,
            exponent,
            zero=base == 0 or math.isinf(base) or math.isinf(exponent),
        )
    except OverflowError:
        raise NumericValueOutOfRange("value out of range: overflow") from None


def square_root(value: float) -> float:
    """The square root of what is not negative."""
    if value < 0:
        raise InvalidPowerArgument("cannot take square root of a negative number")
    return _checked(math.sqrt(value), value, zero=True)


def rounded(value: float) -> float:
    """The nearest whole number; halves go to the even one."""
    return value if math.isinf(value) or math.isnan(value) else math.copysign(float(round(value)), value)


def _checked(result: float, *arguments: float, zero: bool = False) -> float:
    """The result, unless it is infinite or zero and the arguments do not say so."""
    if math.isinf(result) and not any(math.isinf(argument) for argument in arguments):
        raise NumericValueOutOfRange("value out of range: overflow")
    if result == 0 and not zero and all(argument != 0 for argument in arguments):
        raise NumericValueOutOfRange("value out of range: underflow")
    return result


def _sum(left: float, right: float) -> float:
    return _checked(left + right, left, right, zero=True)


def _difference(left: float, right: float) -> float:
    return _checked(left - right, left, right, zero=True)


def _single_of(operation: Callable[..., float]) -> Callable[..., float]:
    return lambda *arguments: single(operation(*arguments))


def _whole(rounding: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: math.copysign(rounding(value), value) if math.isfinite(value) else value


FLOATS: Final[Definitions] = {
    204: ("float4pl", _single_of(_sum)),
    218: ("float8pl", _sum),
    281: ("float48pl", _sum),
    285: ("float84pl", _sum),
    205: ("float4mi", _single_of(_difference)),
    219: ("float8mi", _difference),
    282: ("float48mi", _difference),
    286: ("float84mi", _difference),
    202: ("float4mul", _single_of(product)),
    216: ("float8mul", product),
    279: ("float48mul", product),
    283: ("float84mul", product),
    203: ("float4div", _single_of(quotient)),
    217: ("float8div", quotient),
    280: ("float48div", quotient),
    284: ("float84div", quotient),
    206: ("float4um", lambda value: -value),
    220: ("float8um", lambda value: -value),
    1913: ("float4up", lambda value: value),
    1914: ("float8up", lambda value: value),
    207: ("float4abs", abs),
    221: ("float8abs", abs),
    1394: ("abs", abs),
    1395: ("abs", abs),
    232: ("dpow", power),
    1346: ("pow", power),
    1368: ("power", power),
    230: ("dsqrt", square_root),
    1344: ("sqrt", square_root),
    2308: ("ceil", _whole(math.ceil)),
    2320: ("ceiling", _whole(math.ceil)),
    2309: ("floor", _whole(math.floor)),
    1343: ("trunc", _whole(math.trunc)),
    1342: ("round", rounded),
    2310: ("sign", lambda value: float((value > 0) - (value < 0))),
}
