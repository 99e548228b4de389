"""PostgreSQL's aggregates over the rows `x` of a group, each as often as its positive weight says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from catalog.postgres import functions
from catalog.postgres.storage import Decimal, Plain
from catalog.postgres.types import FLOAT4, FLOAT8, NUMERIC, SqlType
from dialect.expressions.environment import Environment
from dialect.expressions.scalar import Scalar
from dialect.expressions.storages import unsupported
from dialect.spark.equality import comparable, greatest, least
from dialect.spark.expressions import computable, render
from dialect.spark.numbers.numerics import quotient
from dialect.spark.numbers.written import converted
from dialect.spark.rendered import Rendered, cast, failing
from executors.rows import WEIGHT
from executors.spark.compile.collections import COLLECTIONS, collected
from executors.spark.compile.sums import checked_total, counted, decimal_sum, exact_number, float_total, total
from planner.algebra.logical import SINGLE, AggregateCall

Build: TypeAlias = Callable[[AggregateCall, Rendered, str], Rendered]
"""Writes an aggregate of one argument under a FILTER clause."""

_MORE_THAN_ONE: Final = "more than one row returned by a subquery used as an expression"


_HINT: Final = (
    "Use count, sum, avg, min, max, bool_and, bool_or, string_agg or array_agg, over numbers, texts or dates."
)
_TAKEN: Final = {
    "avg": "avg takes numbers here: extract(epoch FROM ...) makes one of an interval.",
    "max": "max takes numbers, texts, dates and times here: convert the values to one of these.",
    "min": "min takes numbers, texts, dates and times here: convert the values to one of these.",
    "string_agg": "string_agg takes texts here: convert the values to text.",
    "sum": "sum takes numbers and intervals here: convert the values to one of these.",
}


def aggregated(call: AggregateCall, columns: Mapping[int, Rendered], environment: Environment) -> Rendered:
    """The aggregate's value."""

    def write(scalar: Scalar) -> Rendered:
        return render(scalar, columns, environment)

    condition = "" if call.condition is None else f" FILTER (WHERE {write(call.condition).sql})"
    if call.function == functions.COUNT:
        return Rendered(f"coalesce(sum(x.{WEIGHT}){condition}, 0L)", Plain.INT64)
    if call.function in COLLECTIONS:
        return collected(call, write, environment, condition)
    build = _BUILDERS.get(call.function)
    if build is None:
        types = " and ".join(environment.type_name(argument.type) for argument in call.arguments)
        hint = _TAKEN.get(call.name, _HINT)
        raise unsupported(f"the aggregate {call.name} over values of type {types}", hint)
    if call.function in _COLLATED:
        environment.check_order(call.collation, call.name)
    value = write(call.arguments[0])
    return build(call, computable(value, environment) if call.name == "sum" else value, condition)


def _count(call: AggregateCall, value: Rendered, condition: str) -> Rendered:
    if call.distinct:
        return Rendered(f"count(DISTINCT {comparable(value).sql}){condition}", Plain.INT64)
    return counted(value, condition)


def _sum(call: AggregateCall, value: Rendered, condition: str) -> Rendered:
    if not call.distinct:
        return total(value, call.type, condition)
    match call.type.oid:
        case _ if call.type.oid == NUMERIC:
            return decimal_sum(exact_number(value), "DISTINCT ", condition)
        case _ if call.type.oid in (FLOAT4, FLOAT8):
            storage = Plain.FLOAT32 if call.type.oid == FLOAT4 else Plain.FLOAT64
            return _distinct_float_sum(value, storage, condition)
        case _ if value.storage is Plain.INTERVAL:
            raise unsupported("a sum of distinct intervals")
    return cast(f"sum(DISTINCT {value.sql}){condition}", Plain.INT64)


def _distinct_float_sum(value: Rendered, storage: Plain, condition: str) -> Rendered:
    distinct = converted(comparable(value), Plain.FLOAT64).sql
    return checked_total(f"sum(DISTINCT {distinct}){condition}", value, storage, condition)


def _average(call: AggregateCall, value: Rendered, condition: str) -> Rendered:
    number = exact_number(value)
    if call.distinct:
        summed = decimal_sum(number, "DISTINCT ", condition)
    else:
        summed = total(number, SqlType(NUMERIC), condition)
    count = cast(_count(call, value, condition).sql, Decimal(19, 0))
    known = Rendered(f"nullif({count.sql}, 0)", count.storage)
    return quotient(summed, known)


def _float_average(call: AggregateCall, value: Rendered, condition: str) -> Rendered:
    count = _count(call, value, condition).sql
    if call.distinct:
        summed = _distinct_float_sum(value, Plain.FLOAT64, condition).sql
    else:
        summed = float_total(value, Plain.FLOAT64, condition).sql
    # PostgreSQL begins with 0, so that an average is never -0.
    return cast(f"(({summed} + 0D) / nullif({count}, 0L))", Plain.FLOAT64)


def _extreme(choose: Callable[[Rendered], str]) -> Build:
    def build(_: AggregateCall, value: Rendered, condition: str) -> Rendered:
        return Rendered(f"{choose(value)}{condition}", value.storage)

    return build


def _called(name: str) -> Build:
    def build(_: AggregateCall, value: Rendered, condition: str) -> Rendered:
        return Rendered(f"{name}({value.sql}){condition}", value.storage)

    return build


def _single(_: AggregateCall, value: Rendered, condition: str) -> Rendered:
    some = f"any_value({value.sql}){condition}"
    return Rendered(failing(f"sum(x.{WEIGHT}){condition} > 1", "21000", _MORE_THAN_ONE, some), value.storage)


# Of int8, int4, int2, oid, float4, float8, date, time, timestamp, timestamptz, numeric; text, bpchar.
_GREATEST: Final = (2115, 2116, 2117, 2118, 2119, 2120, 2122, 2123, 2126, 2127, 2130, 2129, 2244)
_LEAST: Final = (2131, 2132, 2133, 2134, 2135, 2136, 2138, 2139, 2142, 2143, 2146, 2145, 2245)
_COLLATED: Final = frozenset((2129, 2244, 2145, 2245))

_BUILDERS: Final[Mapping[int, Build]] = {
    SINGLE: _single,
    2147: _count,
    **dict.fromkeys((2107, 2108, 2109, 2110, 2111, 2113, 2114), _sum),
    **dict.fromkeys((2100, 2101, 2102, 2103), _average),
    **dict.fromkeys((2104, 2105), _float_average),
    **dict.fromkeys(_GREATEST, _extreme(greatest)),
    **dict.fromkeys(_LEAST, _extreme(least)),
    **dict.fromkeys((2517, 2519), _called("bool_and")),
    2518: _called("bool_or"),
}
