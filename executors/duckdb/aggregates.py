"""Groups over the rows `x`: tallies of weighted rows, and aggregates of rows of positive weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, assert_never

from catalog.postgres import functions
from catalog.postgres.storage import MAX_DIGITS, Decimal, ListOf, Plain
from catalog.postgres.types import FLOAT4, FLOAT8, NUMERIC, SqlType
from dialect.duckdb.division import divided
from dialect.duckdb.equality import (
    any_of,
    extreme,
    forms,
    group_key,
    group_value,
    is_negative_zero,
    sort_key,
)
from dialect.duckdb.numbers import value_of
from dialect.duckdb.rendered import NotWritten, Rendered, cast, unless
from executors.rows import WEIGHT
from executors.sql.relation import Relation, selection
from planner.algebra.logical import SINGLE, AggregateCall, Aggregated, Field, Order
from planner.delta.weighted import Tallied, Tally

Write: TypeAlias = Callable[..., Rendered]

_WEIGHT: Final = f"x.{WEIGHT}"
_NUMBER_OF_ROWS: Final = f"CAST(coalesce(sum({_WEIGHT}), 0) AS BIGINT)"
_DIGITS: Final = {Plain.INT16: 5, Plain.INT32: 10, Plain.INT64: 19}
_GREATEST: Final = (2115, 2116, 2117, 2118, 2119, 2120, 2122, 2123, 2126, 2127, 2130, 2129, 2244)
_LEAST: Final = (2131, 2132, 2133, 2134, 2135, 2136, 2138, 2139, 2142, 2143, 2146, 2145, 2245)
_SUMS: Final = (2107, 2108, 2109, 2110, 2111, 2114)
_BOOLEANS: Final[Mapping[int, str]] = {2517: "bool_and", 2519: "bool_and", 2518: "bool_or"}


def tallied(child: Relation, keys: Sequence[Field], columns: Sequence[Tallied], write: Write) -> Relation:
    """The keys of each group with its tallies, by weights of either sign."""
    inputs = child.columns("x")
    return _by(child, keys, {column.field.column: _tally(column, inputs, write) for column in columns})


def grouped(child: Relation, keys: Sequence[Field], columns: Sequence[Aggregated], write: Write) -> Relation:
    """The keys of each group with its aggregates, a row of weight w counting w times."""
    inputs = child.columns("x")
    return _by(
        child, keys, {column.field.column: _aggregated(column.call, inputs, write) for column in columns}
    )


def _by(child: Relation, keys: Sequence[Field], outcome: dict[int, Rendered]) -> Relation:
    inputs = child.columns("x")
    by = ", ".join(group_key(inputs[field.column]) for field in keys)
    columns = {field.column: group_value(inputs[field.column]) for field in keys} | outcome
    # Without keys there is one group, also where a count is all that is asked for.
    grouping = f" GROUP BY {by}" if keys else "" if outcome else " HAVING count(*) >= 0"
    return selection(columns, bigint("1"), f"FROM {child.source('x')}{grouping}")


def _tally(column: Tallied, inputs: Mapping[int, Rendered], write: Write) -> Rendered:
    if column.value is None:
        return Rendered(_NUMBER_OF_ROWS, Plain.INT64)
    value = write(column.value, inputs)
    match column.tally:
        case Tally.WEIGHT:
            return Rendered(_NUMBER_OF_ROWS, Plain.INT64)
        case Tally.COUNT:
            return _counted(value)
        case Tally.SUM:
            return _total(value, column.field.type)
        case Tally.LEAST:
            return Rendered(extreme("min", value, f"{_WEIGHT} > 0"), value.storage)
        case Tally.GREATEST:
            return Rendered(extreme("max", value, f"{_WEIGHT} > 0"), value.storage)
        case _:
            assert_never(column.tally)


def _aggregated(call: AggregateCall, inputs: Mapping[int, Rendered], write: Write) -> Rendered:
    condition = ""
    if call.condition is not None:
        condition = f" FILTER (WHERE {write(call.condition, inputs).sql})"
    if call.function == functions.COUNT:
        return Rendered(f"CAST(coalesce(sum({_WEIGHT}){condition}, 0) AS BIGINT)", Plain.INT64)
    value = write(call.arguments[0], inputs)
    match call.function:
        case functions.ARRAY_AGG_ANYNONARRAY if not call.distinct:
            return _listed(call, value, inputs, write, condition)
        case functions.COUNT_ANY if call.distinct:
            return Rendered(f"count(DISTINCT {sort_key(value)}){condition}", Plain.INT64)
        case functions.COUNT_ANY:
            return _counted(value, condition)
        case function if function in _SUMS and not call.distinct:
            return _total(value, call.type, condition)
        case function if function in functions.AVERAGES and not call.distinct:
            return _average(value, condition)
        case function if function in _GREATEST:
            return _extreme("max", value, call, inputs, write)
        case function if function in _LEAST:
            return _extreme("min", value, call, inputs, write)
        case function if function in _BOOLEANS:
            return Rendered(f"{_BOOLEANS[function]}({value.sql}){condition}", Plain.BOOLEAN)
        case function if function == SINGLE:
            some = any_of(value, condition)
            return Rendered(unless(f"sum({_WEIGHT}){condition} > 1", some), value.storage)
    raise NotWritten(f"the aggregate {call.name}")


def _extreme(
    name: str, value: Rendered, call: AggregateCall, inputs: Mapping[int, Rendered], write: Write
) -> Rendered:
    condition = "TRUE" if call.condition is None else write(call.condition, inputs).sql
    return Rendered(extreme(name, value, condition), value.storage)


def _listed(
    call: AggregateCall, value: Rendered, inputs: Mapping[int, Rendered], write: Write, condition: str
) -> Rendered:
    """array_agg of rows that are there once, in the call's order and then in that of the values."""
    keys = (*call.order, Order(call.arguments[0], descending=False, nulls_first=False))
    order = ", ".join([*(order_by(key, write(key.value, inputs)) for key in keys), *forms(value)])
    values = f"list({value.sql} ORDER BY {order}){condition}"
    repeated = f"coalesce(max({_WEIGHT}){condition}, 1) > 1"
    return Rendered(unless(repeated, values), ListOf(value.storage))


def bigint(sql: str) -> str:
    """A weight, in 64 bits."""
    return f"CAST({sql} AS BIGINT)"


def order_by(order: Order, value: Rendered) -> str:
    """A key of an order, by PostgreSQL's order of values."""
    direction = "DESC" if order.descending else "ASC"
    return f"{sort_key(value)} {direction} NULLS {'FIRST' if order.nulls_first else 'LAST'}"


def _counted(value: Rendered, condition: str = "") -> Rendered:
    """How many rows have a value; `condition` is a FILTER clause, if any."""
    weights = f"CASE WHEN {value.sql} IS NOT NULL THEN {_WEIGHT} END"
    return Rendered(f"CAST(coalesce(sum({weights}){condition}, 0) AS BIGINT)", Plain.INT64)


def _total(value: Rendered, type_: SqlType, condition: str = "") -> Rendered:
    """The sum of the values, each as often as its weight says, as this type; NULL without a value."""
    if value.storage is Plain.INTERVAL:
        raise NotWritten("a sum of intervals")
    if type_.oid in (FLOAT4, FLOAT8):
        return _float_total(value, Plain.FLOAT32 if type_.oid == FLOAT4 else Plain.FLOAT64, condition)
    if type_.oid == NUMERIC:
        return _decimal_total(value_of(value), condition)
    return cast(f"sum(CAST({value.sql} AS HUGEINT) * {_WEIGHT}){condition}", Plain.INT64)


def _decimal_total(value: Rendered, condition: str) -> Rendered:
    match value.storage:
        case Decimal(scale=scale):
            storage = Decimal(MAX_DIGITS, scale)
        case Plain() if value.storage in _DIGITS:
            storage = Decimal(MAX_DIGITS, 0)
        case _:
            raise NotWritten("a sum of other values than numbers")
    times = f"{cast(value.sql, storage).sql} * CAST({_WEIGHT} AS DECIMAL(18, 0))"
    return cast(f"sum({times}){condition}", storage)


def _average(value: Rendered, condition: str) -> Rendered:
    count = cast(_counted(value, condition).sql, Decimal(19, 0))
    known = Rendered(f"nullif({count.sql}, 0)", count.storage)
    return divided(_decimal_total(value_of(value), condition), known)


def _float_total(value: Rendered, storage: Plain, condition: str) -> Rendered:
    """A sum of doubles that is rounded once; one that is not finite, or may be -0, is Spark's to compute."""
    total = cast(f"sum(CAST({value.sql} AS DOUBLE) * {_WEIGHT}){condition}", storage).sql
    unsure = f"NOT isfinite({total}) OR ({total} = 0 AND bool_or({is_negative_zero(value)}){condition})"
    return Rendered(unless(unsure, total), storage)
