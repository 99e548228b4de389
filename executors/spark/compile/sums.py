"""Sums and counts of weighted rows, the rows being `x`."""

from __future__ import annotations

from typing import Final

from catalog.postgres.storage import Decimal, Plain
from catalog.postgres.types import FLOAT4, FLOAT8, NUMERIC, SqlType
from dialect.expressions.storages import decimal, unsupported
from dialect.spark.casts import DIGITS
from dialect.spark.equality import is_negative_zero
from dialect.spark.moments import infinite_interval, infinity_of
from dialect.spark.numbers.floats import INFINITY
from dialect.spark.numbers.written import converted, value_of
from dialect.spark.rendered import INTERVAL_PARTS, Rendered, cast, failing, interval
from executors.rows import WEIGHT

_WEIGHT: Final = f"x.{WEIGHT}"

# A sum has this many digits more than what is summed: 10^10 rows of the largest value.
_MORE_DIGITS: Final = 10
_MOST_WEIGHT: Final = Decimal(10, 0)

_EXACT: Final = Decimal(20, 0)
_INT4: Final = 2**31 - 1
_INT8: Final = 2**63 - 1
_TOO_LARGE: Final = "interval out of range"

NUMBER_OF_ROWS: Final = f"coalesce(sum({_WEIGHT}), 0L)"


def counted(value: Rendered, condition: str = "") -> Rendered:
    """How many rows have a value; `condition` is a FILTER clause, if any."""
    weights = f"CASE WHEN {value.sql} IS NOT NULL THEN {_WEIGHT} END"
    return Rendered(f"coalesce(sum({weights}){condition}, 0L)", Plain.INT64)


def total(value: Rendered, type_: SqlType, condition: str = "") -> Rendered:
    """The sum of the values, each as often as its weight says, as this type; NULL without a value."""
    if value.storage is Plain.INTERVAL:
        return _interval(value, condition)
    if type_.oid in (FLOAT4, FLOAT8):
        return float_total(value, Plain.FLOAT32 if type_.oid == FLOAT4 else Plain.FLOAT64, condition)
    if type_.oid == NUMERIC:
        return _numeric(value, condition)
    return cast(f"sum({converted(value, Plain.INT64).sql} * {_WEIGHT}){condition}", Plain.INT64)


def float_total(value: Rendered, storage: Plain, condition: str = "") -> Rendered:
    """The sum of floats, each as often as its weight says: added as doubles, and rounded once.

    It is infinite only if a value is, and -0 if all values are.
    """
    total = f"sum({converted(value, Plain.FLOAT64).sql} * {_WEIGHT}){condition}"
    return checked_total(total, value, storage, condition)


def checked_total(total: str, value: Rendered, storage: Plain, condition: str) -> Rendered:
    """The sum of these values as the type, with an error where it is too large for that."""
    result = cast(total, storage).sql
    infinite = f"coalesce(bool_or(abs({value.sql}) = {INFINITY}){condition}, FALSE)"
    overflow = f"abs({result}) = {INFINITY} AND NOT {infinite}"
    is_negative = f"CASE WHEN {value.sql} IS NOT NULL THEN {is_negative_zero(value)} END"
    negative = f"{result} = 0 AND bool_and({is_negative}){condition}"
    zero = cast("'-0'", storage).sql
    otherwise = f"CASE WHEN {negative} THEN {zero} ELSE {result} END"
    return Rendered(failing(overflow, "22003", "value out of range: overflow", otherwise), storage)


def exact_number(value: Rendered) -> Rendered:
    """An integer or numeric as a decimal."""
    value = value_of(value)
    match value.storage:
        case Decimal():
            return value
        case Plain() if value.storage in DIGITS:
            return cast(value.sql, Decimal(DIGITS[value.storage], 0))
    raise unsupported("a sum of other values than numbers and intervals")


def decimal_sum(number: Rendered, distinct: str = "", condition: str = "") -> Rendered:
    """The sum of decimals, of which each row counts once."""
    assert isinstance(number.storage, Decimal)
    integral = number.storage.precision - number.storage.scale
    storage = decimal(integral + _MORE_DIGITS, number.storage.scale)
    return cast(f"sum({distinct}{number.sql}){condition}", storage)


def _numeric(value: Rendered, condition: str) -> Rendered:
    number = exact_number(value)
    assert isinstance(number.storage, Decimal)
    integral = number.storage.precision - number.storage.scale
    times = f"({number.sql} * {cast(_WEIGHT, _MOST_WEIGHT).sql})"
    return decimal_sum(
        cast(times, decimal(integral + _MORE_DIGITS, number.storage.scale)), condition=condition
    )


def _interval(value: Rendered, condition: str) -> Rendered:
    """An infinite value makes the sum infinite, and both kinds of them an error."""
    parts = [
        f"sum({cast(f'{value.sql}.{part}', _EXACT).sql} * {_WEIGHT}){condition}" for part in INTERVAL_PARTS
    ]
    bounds = zip(parts, (_INT4, _INT4, _INT8), strict=True)
    outside = " OR ".join(f"{part} NOT BETWEEN {-most - 1}BD AND {most}BD" for part, most in bounds)
    known = f"count({value.sql}){condition} > 0"
    finite = failing(outside, "22008", _TOO_LARGE, interval(known, *parts).sql)
    greatest, least = (f"{name}({infinity_of(value)}){condition}" for name in ("max", "min"))
    upward = failing(f"{least} < 0", "22008", _TOO_LARGE, infinite_interval("1"))
    downward = infinite_interval("-1")
    sql = f"CASE WHEN {greatest} > 0 THEN {upward} WHEN {least} < 0 THEN {downward} ELSE {finite} END"
    return Rendered(sql, Plain.INTERVAL)
