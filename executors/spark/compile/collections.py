"""Aggregates whose value depends on the order of the rows: lists and joined texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from catalog.postgres import functions
from catalog.postgres.storage import ListOf, Plain
from dialect.expressions.environment import Environment
from dialect.expressions.scalar import Constant, Scalar
from dialect.expressions.storages import has_forms, unsupported
from dialect.spark.equality import identity
from dialect.spark.order import sort_key
from dialect.spark.rendered import Rendered, text_literal
from executors.rows import WEIGHT
from planner.algebra.logical import AggregateCall, Order

COLLECTIONS: Final = frozenset((functions.STRING_AGG_TEXT_TEXT, functions.ARRAY_AGG_ANYNONARRAY))
"""Their oids in pg_proc."""


def collected(
    call: AggregateCall, write: Callable[[Scalar], Rendered], environment: Environment, condition: str
) -> Rendered:
    """array_agg or string_agg, in the call's order and then in that of the values, so that it is the same
    whenever it is computed."""
    value = write(call.arguments[0])
    for key in call.order:
        environment.check_order(key.value.type.collation, "an order of texts")
        environment.check_sortable(key.value.type)
    by_value = Order(call.arguments[0], descending=False, nulls_first=False)
    # The keys of a DISTINCT are its values.
    order = call.order if call.order and call.distinct else (*call.order, by_value)
    keys = [sort_key(write(key.value)) for key in order]
    directions = [*order]
    if has_forms(value.storage):  # and among equal values in that of their forms
        keys.append(identity(value))
        directions.append(Order(call.arguments[0], descending=False, nulls_first=False))
    fields = "".join(f"'k{number}', {key}, " for number, key in enumerate(keys))
    weight = "1L" if call.distinct else f"x.{WEIGHT}"
    row = f"named_struct({fields}'value', {value.sql}, 'weight', {weight})"
    # Spark would take the sign from a -0 in a set.
    collect = "collect_set" if call.distinct and not has_forms(value.storage) else "collect_list"
    rows = f"{collect}({row}){condition}"
    arranged = f"array_sort({rows}, (l, r) -> {_comparison(directions)})"
    if call.distinct and has_forms(value.storage):
        # PostgreSQL allows no other order than that of the values.
        arranged = f"filter({arranged}, (each, n) -> n = 0 OR NOT each.k0 <=> element_at({arranged}, n).k0)"
    repeated = "array_repeat(each.value, CAST(each.weight AS INT))"
    values = f"flatten(transform({arranged}, each -> {repeated}))"
    if call.function == functions.ARRAY_AGG_ANYNONARRAY:
        return Rendered(f"CASE WHEN size({rows}) > 0 THEN {values} END", ListOf(value.storage))
    present = f"filter({values}, each -> each IS NOT NULL)"
    joined = f"array_join({present}, {_delimiter(call.arguments[1])})"
    return Rendered(f"CASE WHEN size({present}) > 0 THEN {joined} END", Plain.TEXT)


def _comparison(order: Sequence[Order]) -> str:
    """A comparison of two rows `l` and `r` by their keys: -1, 0 or 1."""
    cases = []
    for number, key in enumerate(order):
        left, right = f"l.k{number}", f"r.k{number}"
        before, after = (1, -1) if key.descending else (-1, 1)
        null_before = -1 if key.nulls_first else 1
        cases += [
            f"WHEN {left} IS NULL AND {right} IS NOT NULL THEN {null_before}",
            f"WHEN {left} IS NOT NULL AND {right} IS NULL THEN {-null_before}",
            f"WHEN {left} < {right} THEN {before}",
            f"WHEN {left} > {right} THEN {after}",
        ]
    return f"CASE {' '.join(cases)} ELSE 0 END"


def _delimiter(scalar: Scalar) -> str:
    match scalar:
        case Constant(text=text):
            return text_literal(text or "")
    raise unsupported("string_agg with a delimiter that is no constant")
