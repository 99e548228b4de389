"""When new rows of one side of a join meet no old row of the other: a key's before anything refers to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.schema import Tables
from dialect.scalar import Call, Reference, Scalar
from planner.conditions import conjuncts
from planner.delta import Moments
from planner.equality import is_equality
from planner.weighted import Buffer, Choose, Guard, Read, TableBuffer, Weighted
from planner.weighted_tree import within


@dataclass(frozen=True, slots=True)
class Fresh:
    """When no row of dL meets one of R0 (`left`), and none of dR one of L0 (`right`); None: not known."""

    left: Guard | None = None
    right: Guard | None = None


def fresh(
    condition: Scalar, left: Moments, right: Moments, buffers: Sequence[Buffer], tables: Tables
) -> Fresh:
    """By a foreign key from one table to another, where the condition joins along it.

    Let P be the parent, C the child, and P0 and C0 of one position: there each key in C0 without a NULL is in
    P0. If dP takes nothing away, no key of it is in P0, since keys are unique in P0 + dP; so none is in C0.
    C0 of another position may know keys that P0 does not: of rows that came since, or that have gone since.
    """
    one, other = _table(left, buffers), _table(right, buffers)
    if one is None or other is None:
        return Fresh()
    equal = _equal_columns(condition)
    return Fresh(_guard(one, other, equal, tables), _guard(other, one, equal, tables))


def chosen(guard: Guard | None, shortcut: Weighted, general: Weighted) -> Weighted:
    """The shortcut where there is one."""
    return general if guard is None else Choose(guard, shortcut, general)


def _table(side: Moments, buffers: Sequence[Buffer]) -> TableBuffer | None:
    """The table whose rows, or some of them, the side gives one by one."""
    leaves = [each.buffer for each in within(side.change) if isinstance(each, Read)]
    if len(leaves) != 1:
        return None
    buffer = buffers[leaves[0]]
    return buffer if isinstance(buffer, TableBuffer) else None


def _equal_columns(condition: Scalar) -> set[tuple[int, int]]:
    found = set()
    for each in conjuncts(condition):
        match each:
            case Call(arguments=(Reference(column=one), Reference(column=other))) if is_equality(each):
                found |= {(one, other), (other, one)}
    return found


def _guard(
    parent: TableBuffer, child: TableBuffer, equal: set[tuple[int, int]], tables: Tables
) -> Guard | None:
    """That the parent only grew and both are level, if the columns of a foreign key are all joined."""
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
    return {each.name: read[each.attribute].column for each in columns if each.attribute in read}
