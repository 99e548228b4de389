"""Rows that are distinct anyway need no DISTINCT."""

from __future__ import annotations

from collections.abc import Callable

from planner.algebra.columns import column_numbers
from planner.algebra.logical import Distinct, Plan
from planner.facts.properties import KnownProperties


def eliminate_distinct(known: KnownProperties) -> Callable[[Plan], Plan]:
    """δ(x) = x where the columns of x hold a key: no two rows agree on all of them."""

    def rule(plan: Plan) -> Plan:
        match plan:
            case Distinct(input=child) if known.of(child).is_key(column_numbers(child)):
                return child
        return plan

    return rule
