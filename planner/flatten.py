"""Inner joins inside each other as one."""

from __future__ import annotations

from dialect.scalar import Scalar
from planner.columns import passing
from planner.conditions import conjuncts
from planner.logical import Filter, Join, JoinKind, Plan, Project
from planner.tree import children


def flattened(plan: Plan) -> tuple[tuple[Plan, ...], tuple[Scalar, ...]]:
    """The inputs and conditions of a tree of inner joins; of another plan itself.

    A filter on a join is a condition of it; what leaves out columns only is looked through.
    """
    match plan:
        case Join(kind=JoinKind.INNER, condition=condition):
            own = conjuncts(condition)
        case Filter(condition=condition) if _is_join(plan):
            own = conjuncts(condition)
        case Project() if _is_join(plan):
            own = ()
        case _:
            return (plan,), ()
    below = [flattened(each) for each in children(plan)]
    inputs = tuple(each for found, _ in below for each in found)
    return inputs, (*own, *(each for _, found in below for each in found))


def _is_join(plan: Plan) -> bool:
    match plan:
        case Filter(input=child):
            return _is_join(child)
        case Project(input=child, columns=columns):
            return columns == passing(each.field for each in columns) and _is_join(child)
        case Join(kind=kind):
            return kind is JoinKind.INNER
        case _:
            return False
