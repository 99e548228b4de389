"""Computes groups whose digits are a maximum in two steps, so that a deletion need not read the rows that
stay.

γ_(G; f(x), max(d)) = γ_(G; f'(p), max(d))(γ_(G, d; p = f(x))): a maximum cannot be taken back. But numbers
have few different digits, so the lower aggregate has hardly more groups; sums and counts maintain it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from catalog.postgres import functions
from catalog.postgres.types import INT4, INT8, NUMERIC, SqlType
from dialect.expressions.scalar import Branch, Case, Cast, CastMethod, Coalesce, Constant, Scalar
from planner.algebra.columns import Numbers, passing, refer
from planner.algebra.logical import Aggregate, Aggregated, Computed, Field, Plan, Project, fields

_OF_INTEGERS: Final = functions.COUNTS | functions.INTEGER_SUMS
_SUMS: Final = (*_OF_INTEGERS, functions.SUM_INT8, functions.SUM_NUMERIC)
_OF_THEIR_OWN: Final = frozenset(("min", "max", "bool_and", "bool_or", "every"))
_MOST: Final = 3
"""With more columns of digits than this, one step is better than two."""

_INT4: Final = SqlType(INT4)
_INT8: Final = SqlType(INT8)
_NUMERIC: Final = SqlType(NUMERIC)


def in_two_steps(aggregate: Aggregate, digits: Collection[int], numbers: Numbers) -> Plan:
    """The same columns in two steps, or the aggregate itself if that is impossible. `digits`: the maxima."""
    others = [column for column in aggregate.columns if column.field.column not in digits]
    if not 0 < len(digits) <= _MOST or not all(map(_is_partial, others)):
        return aggregate
    maxima = [column for column in aggregate.columns if column.field.column in digits]
    keys = {column.field.column: numbers.field("digits", _INT4) for column in maxima}
    below = Project(
        aggregate.input,
        (
            *passing(fields(aggregate.input)),
            *(Computed(keys[column.field.column], _entering(column)) for column in maxima),
        ),
    )
    partial = {
        column.field.column: replace(column, field=numbers.field(column.field.name, column.field.type))
        for column in others
    }
    step = Aggregate(below, (*aggregate.keys, *keys.values()), tuple(partial.values()))
    values: dict[int, Scalar] = {}
    columns = []
    for column in aggregate.columns:
        if column.field.column in digits:
            call = replace(column.call, arguments=(refer(keys[column.field.column]),), condition=None)
            columns.append(replace(column, call=call))
        else:
            columns.append(_whole(column, partial[column.field.column].field, values, numbers))
    whole = Aggregate(step, aggregate.keys, tuple(columns))
    if not values:
        return whole
    return Project(
        whole,
        tuple(Computed(field, values.get(field.column, refer(field))) for field in fields(aggregate)),
    )


def _is_partial(column: Aggregated) -> bool:
    call = column.call
    if call.distinct or call.order:
        return False
    return call.function in _SUMS or call.name in _OF_THEIR_OWN


def _entering(column: Aggregated) -> Scalar:
    """The argument of the maximum, NULL in rows that do not count."""
    [value] = column.call.arguments
    if column.call.condition is None:
        return value
    return Case((Branch(column.call.condition, value),), Constant(None, value.type), value.type)


def _whole(column: Aggregated, partial: Field, values: dict[int, Scalar], numbers: Numbers) -> Aggregated:
    """The aggregate over its parts; where its type differs then, `values` converts it back."""
    call = replace(column.call, arguments=(refer(partial),), condition=None)
    if call.function == functions.SUM_INT8:
        call = replace(call, function=functions.SUM_NUMERIC)
    if call.function not in _OF_INTEGERS:
        return replace(column, call=call)
    total = numbers.field(column.field.name, _NUMERIC)
    value: Scalar = Cast(refer(total), CastMethod.FUNCTION, functions.INT8_NUMERIC, _INT8)
    if call.function in functions.COUNTS:
        value = Coalesce((value, Constant("0", _INT8)), _INT8)
    values[column.field.column] = value
    return Aggregated(total, replace(call, function=functions.SUM_INT8, name="sum", type=_NUMERIC))
