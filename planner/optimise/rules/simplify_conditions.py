"""Removes parts of conditions that are always or never true."""

from __future__ import annotations

from dialect.expressions.scalar import And, Not, Or, Scalar
from planner.algebra.conditions import FALSE, conjunction, disjunction, is_never_true, is_true
from planner.algebra.logical import Filter, Join, Plan, Values, fields


def simplify_conditions(plan: Plan) -> Plan:
    """σ_true(x) = x; σ_false(x) = ∅; and the like within conditions, where only true counts."""
    match plan:
        case Filter(input=child, condition=condition):
            simple = simplify(condition)
            if is_true(simple):
                return child
            if is_never_true(simple):
                return Values((), fields(plan))
            return plan if simple == condition else Filter(child, simple)
        case Join(kind=kind, left=left, right=right, condition=condition):
            simple = simplify(condition)
            return plan if simple == condition else Join(kind, left, right, simple)
    return plan


def simplify(condition: Scalar) -> Scalar:
    """A condition that is true for the same rows."""
    match condition:
        case And(arguments=arguments):
            parts = [simplify(argument) for argument in arguments]
            return FALSE if any(map(is_never_true, parts)) else conjunction(parts)
        case Or(arguments=arguments):
            parts = [simplify(argument) for argument in arguments]
            kept = [part for part in parts if not is_never_true(part)]
            return next((part for part in kept if is_true(part)), None) or disjunction(kept)
        case Not(argument=Not(argument=inner)):
            return simplify(inner)
    return condition
