"""Pushes conjuncts of a join's condition that read one side alone down to that side."""

from __future__ import annotations

from dialect.expressions.scalar import Scalar
from planner.algebra.columns import column_numbers, references
from planner.algebra.conditions import conjunction, conjuncts
from planner.algebra.logical import Join, JoinKind, Plan
from planner.optimise.rules.push_filters import filtered

_FROM_LEFT = (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
_FROM_RIGHT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def push_join_conditions(plan: Plan) -> Plan:
    """L ⋈_(p(L) AND q(R) AND r) R = σ_p(L) ⋈_r σ_q(R), for a side whose unmatched rows are not kept.

    Not from the kept side: `a LEFT JOIN b ON a.x = 1` keeps all of a, whatever its x.
    """
    match plan:
        case Join(kind=kind, left=left, right=right, condition=condition):
            parts = conjuncts(condition)
            on_left = [part for part in parts if kind in _FROM_LEFT and _reads(part, column_numbers(left))]
            on_right = [part for part in parts if kind in _FROM_RIGHT and _reads(part, column_numbers(right))]
            if on_left or on_right:
                rest = conjunction(part for part in parts if part not in on_left and part not in on_right)
                return Join(kind, filtered(left, on_left), filtered(right, on_right), rest)
    return plan


def _reads(condition: Scalar, columns: frozenset[int]) -> bool:
    read = references(condition)
    return bool(read) and read <= columns
