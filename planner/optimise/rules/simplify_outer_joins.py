"""Turns an outer join whose padded rows are filtered away into an inner join."""

from __future__ import annotations

from planner.algebra.columns import column_numbers
from planner.algebra.conditions import conjuncts
from planner.algebra.logical import Filter, Join, JoinKind, Plan
from planner.facts.null_rejection import rejects_nulls

_WITHOUT_LEFT_PADDING = {JoinKind.RIGHT: JoinKind.INNER, JoinKind.FULL: JoinKind.LEFT}
_WITHOUT_RIGHT_PADDING = {JoinKind.LEFT: JoinKind.INNER, JoinKind.FULL: JoinKind.RIGHT}


def simplify_outer_joins(plan: Plan) -> Plan:
    """σ_p(L ⟕ R) = σ_p(L ⋈ R) where p is never true for a row whose columns of R are all NULL.

    `WHERE b.x IS NULL` is true of such rows, and `WHERE coalesce(b.x, 0) = 0` may be.
    """
    match plan:
        case Filter(input=Join(kind=kind, left=left, right=right) as join, condition=condition):
            parts = conjuncts(condition)
            if any(rejects_nulls(part, column_numbers(left)) for part in parts):
                kind = _WITHOUT_LEFT_PADDING.get(kind, kind)
            if any(rejects_nulls(part, column_numbers(right)) for part in parts):
                kind = _WITHOUT_RIGHT_PADDING.get(kind, kind)
            if kind is not join.kind:
                return Filter(Join(kind, left, right, join.condition), condition)
    return plan
