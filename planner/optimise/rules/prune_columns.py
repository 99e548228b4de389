"""Only the columns that somebody reads are carried."""

from __future__ import annotations

from typing import assert_never

from planner.algebra.columns import column_numbers, passing, references
from planner.algebra.logical import (
    Aggregate,
    DependentJoin,
    Distinct,
    Field,
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
from planner.algebra.tree import call_expressions


def prune_columns(plan: Plan, needed: frozenset[int]) -> Plan:
    """The plan that gives at least the needed columns, and reads no more of its tables than that takes.

    Not through a Distinct or under a Top: which rows are equal, or first, hangs on all of their columns.
    """
    match plan:
        case Scan(table=table, alias=alias, columns=columns):
            return Scan(table, alias, tuple(column for column in columns if column.field.column in needed))
        case Values(rows=rows, fields=fields_):
            kept = [index for index, field in enumerate(fields_) if field.column in needed]
            return Values(
                tuple(tuple(row[index] for index in kept) for row in rows),
                tuple(fields_[index] for index in kept),
            )
        case Filter(input=child, condition=condition):
            return Filter(prune_columns(child, needed | references(condition)), condition)
        case Project(input=child, columns=computed):
            kept_columns = tuple(column for column in computed if column.field.column in needed)
            read = references(*(column.value for column in kept_columns))
            return Project(prune_columns(child, read), kept_columns)
        case Join(kind=kind, left=left, right=right, condition=condition):
            below = needed | references(condition)
            return Join(kind, prune_columns(left, below), prune_columns(right, below), condition)
        case Aggregate(input=child, keys=keys, columns=columns_):
            aggregated = tuple(column for column in columns_ if column.field.column in needed)
            read = frozenset(key.column for key in keys).union(
                *(references(*call_expressions(column.call)) for column in aggregated)
            )
            return Aggregate(prune_columns(child, read), keys, aggregated)
        case Union(inputs=inputs, fields=fields_):
            kept = [index for index, field in enumerate(fields_) if field.column in needed]
            return Union(
                tuple(_columns(input, kept) for input in inputs), tuple(fields_[index] for index in kept)
            )
        case Distinct(input=child):
            return Distinct(prune_columns(child, column_numbers(child)))
        case Top(input=child, order=order, limit=limit, offset=offset):
            read = column_numbers(child) | references(*(key.value for key in order))
            return Top(prune_columns(child, read), order, limit, offset)
        case DependentJoin():
            return plan
        case _:
            assert_never(plan)


def _columns(plan: Plan, positions: list[int]) -> Plan:
    """The plan with those of its columns only, by position."""
    fields_ = fields(plan)
    kept = tuple(fields_[position] for position in positions)
    return keep(prune_columns(plan, frozenset(field.column for field in kept)), kept)


def keep(plan: Plan, columns: tuple[Field, ...]) -> Plan:
    """The plan with exactly these of its columns, in this order."""
    return plan if fields(plan) == columns else Project(plan, passing(columns))
