"""PostgreSQL's integers: overflow is an error, division truncates."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add, mul, neg, sub
from typing import Final

from catalog.errors import DivisionByZero, NumericValueOutOfRange
from catalog.postgres.types import INT2, INT4, INT8, OID
from executors.reference.values.values import Definitions

_BITS: Final = {INT2: 16, INT4: 32, INT8: 64}
_NAMES: Final = {INT2: "smallint", INT4: "integer", INT8: "bigint"}


def fitting(oid: int, value: int) -> int:
    """The value, if the integer type holds it."""
    if oid == OID:
        return value
    if not -(1 << _BITS[oid] - 1) <= value < 1 << _BITS[oid] - 1:
        raise NumericValueOutOfRange(f"{_NAMES[oid]} out of range")
    return value


def quotient(left: int, right: int) -> int:
    """Division, truncated towards zero."""
    if right == 0:
        raise DivisionByZero("division by zero")
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) is (right < 0) else -magnitude


def remainder(left: int, right: int) -> int:
    """What the truncated division leaves: its sign is the left one's."""
    return left - right * quotient(left, right)


def _within(oid: int, operation: Callable[..., int]) -> Callable[..., int]:
    return lambda *arguments: fitting(oid, operation(*arguments))


INTEGERS: Final[Definitions] = {
    176: ("int2pl", _within(INT2, add)),
    177: ("int4pl", _within(INT4, add)),
    178: ("int24pl", _within(INT4, add)),
    179: ("int42pl", _within(INT4, add)),
    463: ("int8pl", _within(INT8, add)),
    837: ("int82pl", _within(INT8, add)),
    841: ("int28pl", _within(INT8, add)),
    1274: ("int84pl", _within(INT8, add)),
    1278: ("int48pl", _within(INT8, add)),
    180: ("int2mi", _within(INT2, sub)),
    181: ("int4mi", _within(INT4, sub)),
    182: ("int24mi", _within(INT4, sub)),
    183: ("int42mi", _within(INT4, sub)),
    464: ("int8mi", _within(INT8, sub)),
    838: ("int82mi", _within(INT8, sub)),
    942: ("int28mi", _within(INT8, sub)),
    1275: ("int84mi", _within(INT8, sub)),
    1279: ("int48mi", _within(INT8, sub)),
    152: ("int2mul", _within(INT2, mul)),
    141: ("int4mul", _within(INT4, mul)),
    170: ("int24mul", _within(INT4, mul)),
    171: ("int42mul", _within(INT4, mul)),
    465: ("int8mul", _within(INT8, mul)),
    839: ("int82mul", _within(INT8, mul)),
    943: ("int28mul", _within(INT8, mul)),
    1276: ("int84mul", _within(INT8, mul)),
    1280: ("int48mul", _within(INT8, mul)),
    153: ("int2div", _within(INT2, quotient)),
    154: ("int4div", _within(INT4, quotient)),
    172: ("int24div", _within(INT4, quotient)),
    173: ("int42div", _within(INT4, quotient)),
    466: ("int8div", _within(INT8, quotient)),
    840: ("int82div", _within(INT8, quotient)),
    948: ("int28div", _within(INT8, quotient)),
    1277: ("int84div", _within(INT8, quotient)),
    1281: ("int48div", _within(INT8, quotient)),
    155: ("int2mod", _within(INT2, remainder)),
    156: ("int4mod", _within(INT4, remainder)),
    945: ("int8mod", _within(INT8, remainder)),
    940: ("mod", _within(INT2, remainder)),
    941: ("mod", _within(INT4, remainder)),
    947: ("mod", _within(INT8, remainder)),
    213: ("int2um", _within(INT2, neg)),
    212: ("int4um", _within(INT4, neg)),
    462: ("int8um", _within(INT8, neg)),
    1911: ("int2up", _within(INT2, int)),
    1912: ("int4up", _within(INT4, int)),
    1910: ("int8up", _within(INT8, int)),
    1253: ("int2abs", _within(INT2, abs)),
    1251: ("int4abs", _within(INT4, abs)),
    1230: ("int8abs", _within(INT8, abs)),
    1398: ("abs", _within(INT2, abs)),
    1397: ("abs", _within(INT4, abs)),
    1396: ("abs", _within(INT8, abs)),
    5044: ("gcd", _within(INT4, math.gcd)),
    5045: ("gcd", _within(INT8, math.gcd)),
    5046: ("lcm", _within(INT4, math.lcm)),
    5047: ("lcm", _within(INT8, math.lcm)),
}
