"""Two projections in a row are one; one that changes nothing is none."""

from __future__ import annotations

from dialect.scalar import Reference
from planner.columns import substitute
from planner.logical import Computed, Plan, Project, fields


def merge_projects(plan: Plan) -> Plan:
    """π_f(π_g(x)) = π_(f∘g)(x), and π_identity(x) = x."""
    match plan:
        case Project(input=Project(input=child, columns=inner), columns=outer):
            meaning = {each.field.column: each.value for each in inner}
            return Project(
                child, tuple(Computed(each.field, substitute(each.value, meaning)) for each in outer)
            )
        case Project(input=child, columns=columns) if _unchanged(columns) == tuple(
            each.column for each in fields(child)
        ):
            return child
    return plan


def _unchanged(columns: tuple[Computed, ...]) -> tuple[int, ...] | None:
    numbers = tuple(
        each.field.column
        for each in columns
        if isinstance(each.value, Reference) and each.value.column == each.field.column
    )
    return numbers if len(numbers) == len(columns) else None
