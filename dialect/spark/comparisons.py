"""Comparison operators: of every type that Spark orders as PostgreSQL does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.postgres.comparisons import COMPARISONS as FUNCTIONS
from catalog.postgres.storage import Decimal, Plain, Written
from catalog.postgres.types import ANYARRAY, ANYENUM, BPCHAR, CHAR, JSONB, NAME, OID, TEXT, TIMETZ
from dialect.expressions.scalar import Call
from dialect.expressions.storages import comparison_storage
from dialect.spark.equality import comparable
from dialect.spark.moments import LAST_TIMESTAMP, timestamp_of_date
from dialect.spark.numbers.shadows import is_computed, is_near, shadow_of
from dialect.spark.numbers.written import (
    converted,
    is_whole,
    is_written_number,
    number_of,
    order_key,
    value_of,
)
from dialect.spark.rendered import Builder, Rendered

_OF_ANY: Final = ("=", "<>")
_UNORDERED: Final = (CHAR, ANYENUM, JSONB)
"""Spark orders these otherwise; what is equal, `comparable` makes the same."""

_FUNCTIONS: Final = {
    types: {symbol: functions[symbol] for symbol in (_OF_ANY if types[0] in _UNORDERED else functions)}
    for types, functions in FUNCTIONS.items()
    if types[0] not in (OID, TIMETZ, ANYARRAY)
}

COLLATED: Final = frozenset(
    oid
    for types, functions in _FUNCTIONS.items()
    if types[0] in (TEXT, BPCHAR, NAME)
    for symbol, oid in functions.items()
    if symbol not in _OF_ANY
)
"""The functions whose outcome depends on the order of a collation."""


def compared(symbol: str, left: Rendered, right: Rendered) -> str:
    """The comparison, in a type that holds both sides."""
    if is_written_number(left) or is_written_number(right):
        if any(map(is_computed, (left, right))) and all(
            is_computed(value) or is_whole(value) for value in (left, right)
        ):
            return _compared_by_shadows(symbol, left, right)
        if not (is_whole(left) and is_whole(right)):
            common = comparison_storage(left.storage, right.storage)
            assert isinstance(common, Written) and isinstance(common.value, Decimal)
            return _compared_by_keys(symbol, left, right, common.value)
        left, right = value_of(left), value_of(right)
    left, right = comparable(left), comparable(right)
    if {left.storage, right.storage} == {Plain.DATE, Plain.TIMESTAMP}:
        left, right = _as_timestamp(left), _as_timestamp(right)
    return _compared_in_common(symbol, left, right)


def _compared_in_common(symbol: str, left: Rendered, right: Rendered) -> str:
    """Decimals of which none holds both, such as numeric(38) and numeric(30, 12), have keys in common."""
    common = comparison_storage(left.storage, right.storage)
    if isinstance(common, Decimal) and not all(
        isinstance(value.storage, Decimal) and common.holds(value.storage) for value in (left, right)
    ):
        return _compared_by_keys(symbol, left, right, common)
    return f"({converted(left, common).sql} {symbol} {converted(right, common).sql})"


def _compared_by_keys(symbol: str, left: Rendered, right: Rendered, decimal: Decimal) -> str:
    return f"({order_key(left, decimal)} {symbol} {order_key(right, decimal)})"


def _compared_by_shadows(symbol: str, left: Rendered, right: Rendered) -> str:
    """NaN is equal to itself and above all, in double precision too."""
    of_numbers = _compared_in_common(symbol, number_of(left).value, number_of(right).value)
    shadows = shadow_of(left), shadow_of(right)
    numbers = " AND ".join(map(is_near, shadows))
    return f"(CASE WHEN {numbers} THEN {of_numbers} ELSE {shadows[0]} {symbol} {shadows[1]} END)"


def _as_timestamp(value: Rendered) -> Rendered:
    """A date that no timestamp reaches to comes before infinity, and after all else."""
    if value.storage is Plain.TIMESTAMP:
        return value
    return Rendered(timestamp_of_date(value.sql, LAST_TIMESTAMP), Plain.TIMESTAMP)


def _comparison(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = arguments
        return Rendered(compared(symbol, left, right), Plain.BOOLEAN)

    return build


COMPARISONS: Final[Mapping[int, Builder]] = {
    oid: _comparison(symbol) for functions in _FUNCTIONS.values() for symbol, oid in functions.items()
}
EQUALITIES: Final = frozenset(functions["="] for functions in _FUNCTIONS.values())
