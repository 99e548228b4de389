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
    equal = _equal_columns(condition)

    def guard(new: Moments, old: Moments) -> Guard | None:
        parents, children = _read(new.change, buffers), _read(old.before, buffers)
        if len(parents) != 1:
            return None
        found = (_guard(parents[0], child, equal, tables) for child in children)
        return next((each for each in found if each is not None), None)

    return Fresh(guard(left, right), guard(right, left))


def chosen(guard: Guard | None, shortcut: Weighted, general: Weighted) -> Weighted:
    """The shortcut where there is one."""
    return general if guard is None else Choose(guard, shortcut, general)


def _read(outcome: Weighted, buffers: Sequence[Buffer]) -> list[Buffer]:
    """The buffers whose rows, under their columns' numbers, the outcome's are made of."""
    return [buffers[each.buffer] for each in within(outcome) if isinstance(each, Read)]


def _equal_columns(condition: Scalar) -> set[tuple[int, int]]:
    found = set()
    for each in conjuncts(condition):
        match each:
            case Call(arguments=(Reference(column=one), Reference(column=other))) if is_equality(each):
                found |= {(one, other), (other, one)}
    return found


def _guard(parent: Buffer, child: Buffer, equal: set[tuple[int, int]], tables: Tables) -> Guard | None:
    """That the parent only grew and both are level, if the columns of a foreign key are all joined."""
    if not (isinstance(parent, TableBuffer) and isinstance(child, TableBuffer)):
        return None
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
