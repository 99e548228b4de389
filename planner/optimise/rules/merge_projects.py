"""Merges two projections in a row, and drops one that changes nothing."""

from __future__ import annotations

from dialect.expressions.scalar import Reference
from planner.algebra.columns import substitute
from planner.algebra.logical import Computed, Plan, Project, fields


def merge_projects(plan: Plan) -> Plan:
    """π_f(π_g(x)) = π_(f∘g)(x), and π_identity(x) = x."""
    match plan:
        case Project(input=Project(input=child, columns=inner), columns=outer):
            meaning = {column.field.column: column.value for column in inner}
            return Project(
                child, tuple(Computed(column.field, substitute(column.value, meaning)) for column in outer)
            )
        case Project(input=child, columns=columns) if _unchanged(columns) == tuple(
            field.column for field in fields(child)
        ):
            return child
    return plan


def _unchanged(columns: tuple[Computed, ...]) -> tuple[int, ...] | None:
    numbers = tuple(
        column.field.column
        for column in columns
        if isinstance(column.value, Reference) and column.value.column == column.field.column
    )
    return numbers if len(numbers) == len(columns) else None
