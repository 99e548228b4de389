"""Finds joins in which new rows of a parent meet no old row of the child, by a foreign key between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from catalog.postgres.schema import Tables
from dialect.expressions.scalar import Scalar
from planner.algebra.equality import equal_columns
from planner.delta.linear import Moments
from planner.delta.weighted import Buffer, Choose, Guard, Read, TableBuffer, Weighted
from planner.delta.weighted_tree import within

Fresh: TypeAlias = Callable[[Moments, Moments], Guard | None]
"""When no row of the first's change meets one of the second's content BEFORE; None if that is unknown."""


def fresh_by(conditions: Sequence[Scalar], buffers: Sequence[Buffer], tables: Tables) -> Fresh:
    """By a foreign key from one table to another, where the conditions join along it.

    Let P be the parent, C the child, and P0 and C0 of one position: there each key in C0 without a NULL is in
    P0. If dP takes nothing away, no key of it is in P0, since keys are unique in P0 + dP; so none is in C0.
    C0 of another position may have keys that P0 lacks: those of rows inserted since, or deleted since.
    """
    equal = equal_pairs(conditions)

    def fresh(new: Moments, old: Moments) -> Guard | None:
        parent, child = _table(new.change, buffers), _table(old.before, buffers)
        return _guard(parent, child, equal, tables) if parent and child else None

    return fresh


def chosen(guard: Guard | None, shortcut: Weighted, general: Weighted) -> Weighted:
    """The shortcut where the guard holds, else the general outcome; without a guard always the latter."""
    return general if guard is None else Choose(guard, shortcut, general)


def equal_pairs(conditions: Iterable[Scalar]) -> set[tuple[int, int]]:
    """The pairs of columns, both ways round, that the conditions say are equal."""
    pairs = filter(None, map(equal_columns, conditions))
    return {pair for one, other in pairs for pair in ((one.column, other.column), (other.column, one.column))}


def _table(outcome: Weighted, buffers: Sequence[Buffer]) -> TableBuffer | None:
    """The table that the outcome's rows are made from one by one, with the numbers of its columns."""
    leaves = [buffers[leaf.buffer] for leaf in within(outcome) if isinstance(leaf, Read)]
    return leaves[0] if len(leaves) == 1 and isinstance(leaves[0], TableBuffer) else None


def _guard(
    parent: TableBuffer, child: TableBuffer, equal: set[tuple[int, int]], tables: Tables
) -> Guard | None:
    """The guard that the parent only grew and both are level; None unless a whole foreign key is joined."""
    of_parent, of_child = _numbers(parent, tables), _numbers(child, tables)
    for key in tables[child.table].foreign_keys if child.table in tables else ():
        if key.parent != parent.table:
            continue
        pairs = zip(key.columns, key.parent_columns, strict=True)
        if all((of_child.get(one), of_parent.get(other)) in equal for one, other in pairs):
            return Guard((parent.number,), ((parent.number, child.number),))
    return None


def _numbers(buffer: TableBuffer, tables: Tables) -> dict[str, int]:
    """The columns that are read, by their names in the table."""
    if buffer.table not in tables:
        return {}
    read = dict(zip(buffer.attributes, buffer.fields, strict=True))
    columns = tables[buffer.table].columns
    return {column.name: read[column.attribute].column for column in columns if column.attribute in read}
