"""Drops a join that neither adds nor removes rows, and whose columns nothing reads."""

from __future__ import annotations

from collections.abc import Callable

from planner.algebra.columns import column_numbers, references
from planner.algebra.conditions import conjuncts
from planner.algebra.equality import equal_across
from planner.algebra.logical import Aggregate, Filter, Join, JoinKind, Plan, Project
from planner.algebra.tree import expressions, with_children
from planner.facts.properties import KnownProperties


def eliminate_joins(known: KnownProperties) -> Callable[[Plan], Plan]:
    """π_L(L ⟕ R) = π_L(L) where the condition sets a key of R equal to columns of L.

    Then no row of L has two partners, and one without a partner is kept. Not for an inner join along a
    foreign key: a child without its parent is possible where triggers are off (session_replication_role).
    """

    def rule(plan: Plan) -> Plan:
        match plan:
            case Project(input=Join() as join) | Aggregate(input=Join() as join):
                if _is_idle(join, _read(plan), known):
                    return rule(with_children(plan, (join.left,)))
            case (
                Project(input=Filter(input=Join() as join) as kept)
                | Aggregate(input=Filter(input=Join() as join) as kept)
            ):
                if _is_idle(join, _read(plan) | references(kept.condition), known):
                    return rule(with_children(plan, (Filter(join.left, kept.condition),)))
        return plan

    return rule


def _read(plan: Project | Aggregate) -> frozenset[int]:
    keys = frozenset(key.column for key in plan.keys) if isinstance(plan, Aggregate) else frozenset()
    return keys | references(*expressions(plan))


def _is_idle(join: Join, read: frozenset[int], known: KnownProperties) -> bool:
    if join.kind is not JoinKind.LEFT or read & column_numbers(join.right):
        return False
    properties = known.of(join.right)
    left, right = column_numbers(join.left), column_numbers(join.right)
    equated = frozenset(column for column, _ in equal_across(conjuncts(join.condition), right, left))
    # Equality is never true of NULL, so columns that are unique apart from NULLs are enough.
    return properties.is_key(equated) or any(
        key <= properties.determined(equated) for key in properties.unique
    )
