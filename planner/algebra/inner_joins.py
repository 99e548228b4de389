"""Flattens nested inner joins into one."""

from __future__ import annotations

from dialect.expressions.scalar import Scalar
from planner.algebra.columns import passing
from planner.algebra.conditions import conjuncts
from planner.algebra.logical import Filter, Join, JoinKind, Plan, Project
from planner.algebra.tree import children


def flattened(plan: Plan) -> tuple[tuple[Plan, ...], tuple[Scalar, ...]]:
    """The inputs and conditions of a tree of inner joins; any other plan is its own only input.

    A filter on a join counts as a condition, and a projection that only drops columns is ignored.
    """
    match plan:
        case Join(kind=JoinKind.INNER, condition=condition):
            conditions = conjuncts(condition)
        case Filter(condition=condition) if _is_join(plan):
            conditions = conjuncts(condition)
        case Project() if _is_join(plan):
            conditions = ()
        case _:
            return (plan,), ()
    below = [flattened(child) for child in children(plan)]
    inputs = tuple(node for joined, _ in below for node in joined)
    return inputs, (
        *conditions,
        *(condition for _, below_conditions in below for condition in below_conditions),
    )


def _is_join(plan: Plan) -> bool:
    match plan:
        case Filter(input=child):
            return _is_join(child)
        case Project(input=child, columns=columns):
            return columns == passing(column.field for column in columns) and _is_join(child)
        case Join(kind=kind):
            return kind is JoinKind.INNER
        case _:
            return False
