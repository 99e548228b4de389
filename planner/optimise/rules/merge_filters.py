"""Merges two filters in a row."""

from __future__ import annotations

from planner.algebra.conditions import conjunction
from planner.algebra.logical import Filter, Plan


def merge_filters(plan: Plan) -> Plan:
    """σ_q(σ_p(x)) = σ_(p AND q)(x): a row passes both if and only if both are true for it."""
    match plan:
        case Filter(input=Filter(input=child, condition=inner), condition=outer):
            return Filter(child, conjunction((inner, outer)))
    return plan
