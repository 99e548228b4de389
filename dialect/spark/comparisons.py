"""Comparison operators: of every type that Spark orders as PostgreSQL does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.storage import Decimal, Plain, Written
from dialect.expressions.scalar import Call
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
from dialect.spark.rendered import Builder, Rendered, comparison_storage

# bool, char, int2, int4, int24, int42, int8, int84, int48, int28, int82, float4, float8, float48, float84,
# numeric, date, time, timestamp, timestamptz, date against timestamp, timestamp against date, interval, uuid,
# bytea
_UNCOLLATED: Final[Mapping[str, tuple[int, ...]]] = {
    "=": (
        *(60, 61, 63, 65, 158, 159, 467, 474, 852, 1850, 1856, 287, 293, 299, 305),
        *(1718, 1086, 1145, 2052, 1152, 2340, 2366, 1162, 2956, 1948),
    ),
    "<>": (
        *(84, 70, 145, 144, 164, 165, 468, 475, 853, 1851, 1857, 288, 294, 300, 306),
        *(1719, 1091, 1106, 2053, 1153, 2343, 2369, 1163, 2959, 1953),
    ),
    "<": (
        *(56, 64, 66, 160, 161, 469, 476, 854, 1852, 1858, 289, 295, 301, 307),
        *(1722, 1087, 1102, 2054, 1154, 2338, 2364, 1164, 2954, 1949),
    ),
    "<=": (
        *(1691, 148, 149, 166, 167, 471, 478, 856, 1854, 1860, 290, 296, 302, 308),
        *(1723, 1088, 1103, 2055, 1155, 2339, 2365, 1165, 2955, 1950),
    ),
    ">": (
        *(57, 146, 147, 162, 163, 470, 477, 855, 1853, 1859, 291, 297, 303, 309),
        *(1720, 1089, 1104, 2057, 1157, 2341, 2367, 1167, 2958, 1951),
    ),
    ">=": (
        *(1692, 151, 150, 168, 169, 472, 479, 857, 1855, 1861, 292, 298, 304, 310),
        *(1721, 1090, 1105, 2056, 1156, 2342, 2368, 1166, 2957, 1952),
    ),
}
# text, bpchar, name, name against text, text against name, enum, jsonb: equal as `comparable` makes them
_TEXT_EQUAL: Final[Mapping[str, tuple[int, ...]]] = {
    "=": (67, 1048, 62, 240, 247, 3508, 4043),
    "<>": (157, 1053, 659, 245, 252, 3509, 4038),
}
# text, bpchar, name, name against text, text against name
_TEXT_ORDERED: Final[Mapping[str, tuple[int, ...]]] = {
    "<": (740, 1049, 655, 241, 248),
    "<=": (741, 1050, 656, 242, 249),
    ">": (742, 1051, 657, 244, 251),
    ">=": (743, 1052, 658, 243, 250),
}

COLLATED: Final = frozenset(oid for oids in _TEXT_ORDERED.values() for oid in oids)
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
            return f"({order_key(left, common.value)} {symbol} {order_key(right, common.value)})"
        left, right = value_of(left), value_of(right)
    left, right = comparable(left), comparable(right)
    if {left.storage, right.storage} == {Plain.DATE, Plain.TIMESTAMP}:
        left, right = _as_timestamp(left), _as_timestamp(right)
    common = comparison_storage(left.storage, right.storage)
    return f"({converted(left, common).sql} {symbol} {converted(right, common).sql})"


def _compared_by_shadows(symbol: str, left: Rendered, right: Rendered) -> str:
    """NaN is equal to itself and above all, in double precision too."""
    values = [number_of(value).value for value in (left, right)]
    common = comparison_storage(values[0].storage, values[1].storage)
    one, other = (converted(value, common).sql for value in values)
    shadows = shadow_of(left), shadow_of(right)
    numbers = " AND ".join(map(is_near, shadows))
    return f"(CASE WHEN {numbers} THEN {one} {symbol} {other} ELSE {shadows[0]} {symbol} {shadows[1]} END)"


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
    oid: _comparison(symbol)
    for table in (_UNCOLLATED, _TEXT_EQUAL, _TEXT_ORDERED)
    for symbol, oids in table.items()
    for oid in oids
}
EQUALITIES: Final = frozenset((*_UNCOLLATED["="], *_TEXT_EQUAL["="]))
