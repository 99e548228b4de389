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


def _of(oid: int, operation: Callable[..., int]) -> Callable[..., int]:
    return lambda *arguments: fitting(oid, operation(*arguments))


INTEGERS: Final[Definitions] = {
    176: ("int2pl", _of(INT2, add)),
    177: ("int4pl", _of(INT4, add)),
    178: ("int24pl", _of(INT4, add)),
    179: ("int42pl", _of(INT4, add)),
    463: ("int8pl", _of(INT8, add)),
    837: ("int82pl", _of(INT8, add)),
    841: ("int28pl", _of(INT8, add)),
    1274: ("int84pl", _of(INT8, add)),
    1278: ("int48pl", _of(INT8, add)),
    180: ("int2mi", _of(INT2, sub)),
    181: ("int4mi", _of(INT4, sub)),
    182: ("int24mi", _of(INT4, sub)),
    183: ("int42mi", _of(INT4, sub)),
    464: ("int8mi", _of(INT8, sub)),
    838: ("int82mi", _of(INT8, sub)),
    942: ("int28mi", _of(INT8, sub)),
    1275: ("int84mi", _of(INT8, sub)),
    1279: ("int48mi", _of(INT8, sub)),
    152: ("int2mul", _of(INT2, mul)),
    141: ("int4mul", _of(INT4, mul)),
    170: ("int24mul", _of(INT4, mul)),
    171: ("int42mul", _of(INT4, mul)),
    465: ("int8mul", _of(INT8, mul)),
    839: ("int82mul", _of(INT8, mul)),
    943: ("int28mul", _of(INT8, mul)),
    1276: ("int84mul", _of(INT8, mul)),
    1280: ("int48mul", _of(INT8, mul)),
    153: ("int2div", _of(INT2, quotient)),
    154: ("int4div", _of(INT4, quotient)),
    172: ("int24div", _of(INT4, quotient)),
    173: ("int42div", _of(INT4, quotient)),
    466: ("int8div", _of(INT8, quotient)),
    840: ("int82div", _of(INT8, quotient)),
    948: ("int28div", _of(INT8, quotient)),
    1277: ("int84div", _of(INT8, quotient)),
    1281: ("int48div", _of(INT8, quotient)),
    155: ("int2mod", _of(INT2, remainder)),
    156: ("int4mod", _of(INT4, remainder)),
    945: ("int8mod", _of(INT8, remainder)),
    940: ("mod", _of(INT2, remainder)),
    941: ("mod", _of(INT4, remainder)),
    947: ("mod", _of(INT8, remainder)),
    213: ("int2um", _of(INT2, neg)),
    212: ("int4um", _of(INT4, neg)),
    462: ("int8um", _of(INT8, neg)),
    1911: ("int2up", _of(INT2, int)),
    1912: ("int4up", _of(INT4, int)),
    1910: ("int8up", _of(INT8, int)),
    1253: ("int2abs", _of(INT2, abs)),
    1251: ("int4abs", _of(INT4, abs)),
    1230: ("int8abs", _of(INT8, abs)),
    1398: ("abs", _of(INT2, abs)),
    1397: ("abs", _of(INT4, abs)),
    1396: ("abs", _of(INT8, abs)),
    5044: ("gcd", _of(INT4, math.gcd)),
    5045: ("gcd", _of(INT8, math.gcd)),
    5046: ("lcm", _of(INT4, math.lcm)),
    5047: ("lcm", _of(INT8, math.lcm)),
}
