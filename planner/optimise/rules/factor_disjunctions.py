"""A condition that every branch of an OR contains is checked once."""

from __future__ import annotations

from dialect.expressions.scalar import Or, Scalar
from planner.algebra.conditions import conjunction, conjuncts, disjunction, disjuncts
from planner.algebra.logical import Filter, Join, Plan


def factor_disjunctions(plan: Plan) -> Plan:
    """(p AND q) OR (p AND r) = p AND (q OR r), also in three-valued logic."""
    match plan:
        case Filter(input=child, condition=condition):
            factored = factor(condition)
            return plan if factored == condition else Filter(child, factored)
        case Join(kind=kind, left=left, right=right, condition=condition):
            factored = factor(condition)
            return plan if factored == condition else Join(kind, left, right, factored)
    return plan


def factor(condition: Scalar) -> Scalar:
    """The condition with the common conjuncts of its disjunctions factored out."""
    return conjunction(
        _factor_one(conjunct) if isinstance(conjunct, Or) else conjunct for conjunct in conjuncts(condition)
    )


def _factor_one(disjunction_: Or) -> Scalar:
    branches = [conjuncts(disjunct) for disjunct in disjuncts(disjunction_)]
    common = [conjunct for conjunct in branches[0] if all(conjunct in branch for branch in branches[1:])]
    if not common:
        return disjunction_
    rests = [conjunction(conjunct for conjunct in branch if conjunct not in common) for branch in branches]
    if any(not conjuncts(rest) for rest in rests):
        return conjunction(common)
    return conjunction((*common, disjunction(rests)))
