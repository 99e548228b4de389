"""A value that is never NULL need not be tested for NULL."""

from __future__ import annotations

from dataclasses import replace

from dialect.expressions.scalar import IsNull, Scalar
from dialect.expressions.walk import inside, transform_scalar
from planner.algebra.conditions import FALSE
from planner.algebra.logical import Filter, Join, Plan
from planner.algebra.tree import Rule, children
from planner.facts.nullability import is_never_null
from planner.facts.properties import KnownProperties


def drop_null_tests(known: KnownProperties) -> Rule:
    """x IS NULL = false where x is made of columns that are never NULL: NOT IN is then a plain anti-join.

    The condition of a join reads the columns of its inputs, before rows are padded.
    """

    def rule(plan: Plan) -> Plan:
        if not isinstance(plan, Filter | Join):
            return plan
        if not any(isinstance(part, IsNull) for part in inside(plan.condition)):
            return plan
        not_null = frozenset[int]().union(*(known.of(child).not_null for child in children(plan)))

        def change(part: Scalar) -> Scalar:
            never = isinstance(part, IsNull) and is_never_null(part.argument, not_null)
            return FALSE if never else part

        condition = transform_scalar(plan.condition, change)
        return plan if condition == plan.condition else replace(plan, condition=condition)

    return rule
