"""PostgreSQL's values as Python objects, equal and ordered as PostgreSQL has them.

NULL is None; numeric is Decimal, its exponent the display scale; bpchar is a str without its padding; uuid,
"char" and name are str; a timestamp is a naive datetime, a timestamptz one of UTC; an array is a tuple.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import total_ordering
from typing import Any, Final, TypeAlias

from catalog.postgres import types
from catalog.postgres.schema import TableName

Value: TypeAlias = object
Row: TypeAlias = tuple[Value, ...]
Bag: TypeAlias = Counter[Row]
Contents: TypeAlias = Mapping[TableName, Bag]
Definitions: TypeAlias = Mapping[int, tuple[str, Callable[..., Value]]]
"""What functions do, and their names, by pg_proc's oid."""

NAN: Final = float("nan")  # the only one there is, so that rows with it are equal
NAN_NUMERIC: Final = Decimal("NaN")
ELEMENTS: Final = {
    1000: types.BOOL,
    1001: types.BYTEA,
    1005: types.INT2,
    1007: types.INT4,
    1009: types.TEXT,
    1014: types.BPCHAR,
    1015: types.VARCHAR,
    1016: types.INT8,
    1021: types.FLOAT4,
    1022: types.FLOAT8,
    1115: types.TIMESTAMP,
    1182: types.DATE,
    1183: types.TIME,
    1185: types.TIMESTAMPTZ,
    1187: types.INTERVAL,
    1231: types.NUMERIC,
    2951: types.UUID,
}  # what arrays are made of
MICROSECONDS_OF_DAY: Final = 86_400_000_000
DAYS_OF_MONTH: Final = 30


@dataclass(frozen=True, slots=True)
class Interval:
    """A length of time, whose parts are kept apart."""

    months: int = 0
    days: int = 0
    microseconds: int = 0


def settled(value: Value) -> Value:
    """The value, NaN being the one that all rows have."""
    if isinstance(value, Decimal) and value.is_nan():
        return NAN_NUMERIC
    return NAN if isinstance(value, float) and math.isnan(value) else value


def order_key(value: Value) -> Any:
    """What is equal, and orders, as PostgreSQL has it among the values of a type, NULL aside.

    NaN is above all numbers, as NULL is in an array; a month has 30 days, a day 24 hours.
    """
    match value:
        case float():
            return (1, 0.0) if math.isnan(value) else (0, value)
        case Decimal():
            return (1, Decimal(0)) if value.is_nan() else (0, value)
        case Interval(months=months, days=days, microseconds=microseconds):
            return (months * DAYS_OF_MONTH + days) * MICROSECONDS_OF_DAY + microseconds
        case tuple():
            return tuple((1,) if element is None else (0, order_key(element)) for element in value)
        case date() if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        case _:
            return value


def equality_key(values: Row) -> Row:
    """What is equal for rows none of whose values are distinct."""
    return tuple(None if value is None else order_key(value) for value in values)


@total_ordering
@dataclass(frozen=True, slots=True)
class SortKey:
    """What orders values, NULL among them, in one direction."""

    value: Value
    descending: bool
    nulls_first: bool

    def __lt__(self, other: SortKey) -> bool:
        if self.value is None or other.value is None:
            return self.value is not other.value and (self.value is None) is self.nulls_first
        one, another = order_key(self.value), order_key(other.value)
        return bool(another < one if self.descending else one < another)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SortKey) and equality_key((self.value,)) == equality_key((other.value,))

    def __hash__(self) -> int:
        return hash(equality_key((self.value,)))
