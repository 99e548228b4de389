"""Which columns of a node are needed, and which columns of its inputs it needs for them."""

from __future__ import annotations

from typing import TypeAlias

from planner.algebra.columns import column_numbers, references
from planner.algebra.logical import (
    Aggregate,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Union,
)
from planner.algebra.tree import children, expressions, made

Columns: TypeAlias = frozenset[int]


def given(plan: Plan, needed: Columns) -> Columns:
    """The columns of the node's buffer: all of them, unless fewer are known to do."""
    match plan:
        case Aggregate(keys=keys):
            return needed | {key.column for key in keys}
        case Scan() | Filter() | Project() | Join() | Union():
            return needed
        case _:
            return column_numbers(plan)


def needed_below(plan: Plan, needed: Columns) -> tuple[Columns, ...]:
    """For each input the columns of it that the node reads or passes on.

    A Project computes only what is needed; every other node reads all that its expressions read.
    """
    passing = {key.column for key in plan.keys} if isinstance(plan, Aggregate) else needed
    read = references(*(() if isinstance(plan, Project) else expressions(plan))).union(passing)
    for field, origin in made(plan):
        if field.column in needed and isinstance(origin, tuple):
            read |= references(*origin)
    return tuple(read & column_numbers(child) for child in children(plan))
