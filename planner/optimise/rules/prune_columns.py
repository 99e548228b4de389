"""Drops the columns that nothing reads."""

from __future__ import annotations

from dataclasses import replace

from planner.algebra.columns import keep
from planner.algebra.logical import (
    Aggregate,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    fields,
)
from planner.algebra.needed_columns import Columns, given, needed_below
from planner.algebra.tree import children, with_children


def prune_columns(plan: Plan, needed: Columns) -> Plan:
    """The plan that gives at least the needed columns, and reads no more of its tables than that takes.

    Not below a Distinct or a Top: which rows are equal, or first, depends on all of their columns.
    """
    narrowed = _narrowed(plan, needed)
    below = needed_below(plan if isinstance(plan, Union) else narrowed, given(plan, needed))
    inputs = tuple(map(prune_columns, children(plan), below))
    if isinstance(plan, Union):
        inputs = tuple(
            keep(input, tuple(field for field in fields(before) if field.column in columns))
            for input, before, columns in zip(inputs, plan.inputs, below, strict=True)
        )
    return with_children(narrowed, inputs)


def _narrowed(plan: Plan, needed: Columns) -> Plan:
    """The node without columns of its own that are not needed, where it can do without them."""
    match plan:
        case Scan(columns=columns):
            return replace(plan, columns=tuple(column for column in columns if column.field.column in needed))
        case Project(columns=computed):
            return replace(
                plan, columns=tuple(column for column in computed if column.field.column in needed)
            )
        case Aggregate(columns=calls):
            return replace(plan, columns=tuple(column for column in calls if column.field.column in needed))
        case Union(fields=columns):
            return replace(plan, fields=tuple(field for field in columns if field.column in needed))
        case Values(rows=rows, fields=columns):
            places = [place for place, field in enumerate(columns) if field.column in needed]
            return Values(
                tuple(tuple(row[place] for place in places) for row in rows),
                tuple(columns[place] for place in places),
            )
        case _:
            return plan
