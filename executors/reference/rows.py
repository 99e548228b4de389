"""Rows as the expressions of a plan see them, by the numbers of their columns; groups and orders of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from dialect.expressions.scalar import Scalar
from executors.reference.aggregates import aggregate, sort_key
from executors.reference.scalar import Columns, compute
from executors.reference.values.values import Bag, Row, equality_key
from planner.algebra.logical import Aggregated, DependentPlan, Field, Top
from planner.delta.weighted import First

Item = TypeVar("Item")


def named(names: Sequence[Field], row: Row, outer: Columns) -> Columns:
    """The row's columns by number, and those of the rows around it."""
    return {**outer, **{field.column: value for field, value in zip(names, row, strict=True)}}


def computed(values: Iterable[Scalar], columns: Columns) -> Row:
    """The row of these expressions' values."""
    return tuple(compute(value, columns) for value in values)


def mapped(bag: Bag, function: Callable[[Row], Row]) -> Bag:
    """The bag of the rows' images."""
    images: Bag = Counter()
    for row, count in bag.items():
        images[function(row)] += count
    return images


def unlike(rows: Iterable[Row]) -> list[Row]:
    """The rows without duplicates."""
    return list({equality_key(row): row for row in rows}.values())


def gathered(
    members: Iterable[Item], keys: Sequence[Field], columns: Callable[[Item], Columns]
) -> list[tuple[Row, list[Item]]]:
    """The members whose keys are not distinct, together; without keys one group, also of no members."""
    groups: dict[Row, tuple[Row, list[Item]]] = {} if keys else {(): ((), [])}
    for member in members:
        key = tuple(columns(member)[field.column] for field in keys)
        groups.setdefault(equality_key(key), (key, []))[1].append(member)
    return list(groups.values())


def grouped(members: Sequence[Columns], keys: Sequence[Field], columns: Sequence[Aggregated]) -> list[Row]:
    """A row for each group: its keys, then what is aggregated over its members."""
    groups = gathered(members, keys, lambda member: member)
    return [(*key, *(aggregate(column.call, group) for column in columns)) for key, group in groups]


def first(
    top: Top[DependentPlan] | First, rows: Iterable[Row], names: Sequence[Field], outer: Columns
) -> list[Row]:
    """The rows that come first in the order."""
    ordered = sorted(rows, key=lambda row: sort_key(top.order, named(names, row, outer)))
    return ordered[top.offset : None if top.limit is None else top.offset + top.limit]
