"""Which columns of a node somebody needs, and which of its inputs' it needs for that."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from planner.algebra.columns import column_numbers, references
from planner.algebra.logical import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)
from planner.algebra.tree import children, expressions

Columns: TypeAlias = frozenset[int]


def given(plan: Plan, needed: Columns) -> Columns:
    """The columns that the node's buffer gives: also some that are not needed, but there."""
    match plan:
        case Aggregate(keys=keys):
            return needed | {key.column for key in keys}
        case Distinct() | Top() | Values():
            return column_numbers(plan)
        case Scan() | Filter() | Project() | Join() | Union():
            return needed
        case _:
            assert_never(plan)


def needed_below(plan: Plan, needed: Columns) -> tuple[Columns, ...]:
    """For each input the columns of it that the node reads or passes on."""
    match plan:
        case Union(inputs=inputs, fields=columns):
            places = [place for place, field in enumerate(columns) if field.column in needed]
            return tuple(frozenset(fields(input)[place].column for place in places) for input in inputs)
        case Project(columns=computed):
            read = references(*(column.value for column in computed if column.field.column in needed))
        case Aggregate(keys=keys):
            read = references(*expressions(plan)) | {key.column for key in keys}
        case Scan() | Values() | Filter() | Join() | Distinct() | Top():
            read = needed | references(*expressions(plan))
        case _:
            assert_never(plan)
    return tuple(read & column_numbers(child) for child in children(plan))
