"""What is derived of a plan's rows holds of them, for every node and whatever the tables hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import Table, TableName, Tables
from catalog.postgres.types import BOOLEAN
from dialect.expressions.scalar import Branch, Case, Coalesce, Constant, IsNull, NullIf, Or, Scalar
from executors.reference.evaluate import evaluate
from executors.reference.values.values import Bag, Row, equality_key
from planner.algebra.columns import refer
from planner.algebra.logical import Field, Filter, Join, JoinKind, Plan, Scan, fields
from planner.algebra.tree import nodes
from planner.facts.dependencies import NONE, Columns
from planner.facts.nullability import is_never_null
from planner.facts.properties import KnownProperties
from tests.support.planning.random_plans import INTEGER, TABLES, call, columns_of, plans, rows


def _constrained(table: Table, *, filled: str, keys: tuple[tuple[str, ...], ...]) -> Table:
    columns = tuple(replace(column, nullable=column.name not in filled) for column in table.columns)
    return replace(table, columns=columns, keys=keys)


_R, _S, _T = TABLES.values()
CONSTRAINED: Final[Tables] = {
    table.name: table
    for table in (
        _constrained(_R, filled="a", keys=(("a",),)),
        _constrained(_S, filled="", keys=(("c",), ("c", "d"))),
        _constrained(_T, filled="e", keys=(("e", "f"),)),
    )
}


@st.composite
def contents(draw: st.DrawFn) -> dict[TableName, Bag]:
    """Tables whose keys hold: a row that repeats one is left out."""
    found: dict[TableName, Bag] = {}
    for name, table in CONSTRAINED.items():
        names = [column.name for column in table.columns]
        taken: set[tuple[tuple[str, ...], Row]] = set()
        kept: list[Row] = []
        for row in draw(st.lists(rows(table), max_size=6)):
            values = {(key, tuple(row[names.index(column)] for column in key)) for key in table.keys}
            values = {(key, value) for key, value in values if None not in value}
            if not values & taken:
                taken |= values
                kept.append(row)
        found[name] = Counter(kept)
    return found


@settings(max_examples=500)
@given(plan=plans(CONSTRAINED), tables=contents())
def test_what_is_derived_holds(plan: Plan, tables: dict[TableName, Bag]) -> None:
    for node in nodes(plan):
        columns = fields(node)
        found = list(evaluate(node, tables).elements())
        derived = KnownProperties(CONSTRAINED).of(node)
        assert derived.columns == {column.column for column in columns}
        for key in derived.keys:
            assert all(count == 1 for count in Counter(values(found, columns, key)).values()), key
        for key in derived.unique:
            filled = [value for value in values(found, columns, key) if None not in value]
            assert len(filled) == len(set(filled)), key
        for column in derived.not_null:
            assert (None,) not in values(found, columns, frozenset({column}))
        for dependency in derived.dependencies:
            both = set(
                zip(values(found, columns, dependency.of), values(found, columns, dependency.on), strict=True)
            )
            assert len(both) == len({of for of, _ in both}), dependency
        assert len(found) <= 1 or not derived.is_key(NONE)


def values(found: Iterable[Row], columns: tuple[Field, ...], chosen: Columns) -> list[Row]:
    """The rows by some of their columns, equal where they agree."""
    places = [place for place, column in enumerate(columns) if column.column in chosen]
    return [equality_key(tuple(row[place] for place in places)) for row in found]


def scan(table: Table, first: int) -> Scan:
    """A scan whose columns are numbered from there."""
    columns = columns_of(table)
    return Scan(
        table.name,
        "x",
        tuple(replace(c, field=replace(c.field, column=first + n)) for n, c in enumerate(columns)),
    )


R, S = scan(CONSTRAINED[_R.name], 1), scan(CONSTRAINED[_S.name], 3)
A, B, C, D = (refer(field) for side in (R, S) for field in fields(side))


NULL, ONE = Constant(None, INTEGER), Constant("1", INTEGER)


@pytest.mark.parametrize(
    ("value", "never"),
    [
        (A, True),
        (B, False),
        (ONE, True),
        (NULL, False),
        (Coalesce((B, A), INTEGER), True),
        (Coalesce((B, NULL), INTEGER), False),
        (call(177, "+", INTEGER, A, ONE), True),
        (call(177, "+", INTEGER, A, B), False),
        (IsNull(B), True),
        (Or((IsNull(B), call(65, "=", BOOLEAN, A, B))), False),
        (Case((Branch(IsNull(B), A),), ONE, INTEGER), True),
        (Case((Branch(IsNull(B), A),), NULL, INTEGER), False),
        (NullIf(call(65, "=", BOOLEAN, A, ONE), INTEGER), False),
    ],
)
def test_what_is_never_null(value: Scalar, never: bool) -> None:
    assert is_never_null(value, frozenset({A.column})) is never


def test_a_key_of_the_other_side_keeps_the_keys() -> None:
    equal = call(65, "=", BOOLEAN, B, C)
    for kind in (JoinKind.INNER, JoinKind.LEFT):
        joined = KnownProperties(CONSTRAINED).of(
            Join(kind, R, Filter(S, call(65, "=", BOOLEAN, C, C)), equal)
        )
        assert joined.keys == (frozenset({A.column}),)
        assert joined.determined(frozenset({A.column})) == {A.column, B.column, C.column, D.column}


def test_a_unique_column_is_a_key_once_it_has_no_null() -> None:
    assert KnownProperties(CONSTRAINED).of(S).keys == ()
    one = Filter(S, call(66, "<", BOOLEAN, C, Constant("1", INTEGER)))
    assert KnownProperties(CONSTRAINED).of(one).keys == (frozenset({C.column}),)


def test_a_key_that_is_constant_leaves_one_row() -> None:
    one = Filter(R, call(65, "=", BOOLEAN, A, Constant("1", INTEGER)))
    assert KnownProperties(CONSTRAINED).of(one).is_key(NONE)
    assert not KnownProperties(CONSTRAINED).of(R).is_key(NONE)
