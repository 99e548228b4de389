"""From what a query means to the plan that is cheapest to maintain: rules in stages, each run to its
fixpoint."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from catalog.postgres.schema import Tables
from planner.algebra.check import check_unnested
from planner.algebra.columns import Numbers, keep, numbers_after
from planner.algebra.logical import LogicalQuery, Plan, fields
from planner.algebra.statistics import Statistics
from planner.algebra.tree import transform, transform_down
from planner.facts.properties import KnownProperties
from planner.optimise.rules.drop_null_tests import drop_null_tests
from planner.optimise.rules.eliminate_distinct import eliminate_distinct
from planner.optimise.rules.eliminate_joins import eliminate_joins
from planner.optimise.rules.factor_disjunctions import factor_disjunctions
from planner.optimise.rules.infer_equalities import infer_equalities
from planner.optimise.rules.merge_filters import merge_filters
from planner.optimise.rules.merge_projects import merge_projects
from planner.optimise.rules.order_joins import order_joins
from planner.optimise.rules.prune_columns import prune_columns
from planner.optimise.rules.push_aggregates import push_aggregates
from planner.optimise.rules.push_filters import push_filters
from planner.optimise.rules.push_join_conditions import push_join_conditions
from planner.optimise.rules.simplify_conditions import simplify_conditions
from planner.optimise.rules.simplify_outer_joins import simplify_outer_joins

MOST_ROUNDS: Final = 100
"""So often the rules of a stage run at most; a handful of rounds is what they take."""

Rule: TypeAlias = Callable[[Plan], Plan]
Observer: TypeAlias = Callable[[str, Plan], None]


class UnsettledRulesWarning(UserWarning):
    """The rules of a stage undo each other: a fault of ours, though the plan means what it should."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Rules for whole plans, one after the other: once, or until none of them changes anything."""

    name: str
    rules: tuple[tuple[str, Rule], ...]
    once: bool = False


def stages(tables: Tables, statistics: Statistics, numbers: Numbers) -> tuple[Stage, ...]:
    """The rules in their order.

    Conditions first, since all else reads them; then what keys and foreign keys make needless, while all
    columns are still there to prove it; then the order of joins, once, because equal costs could
    alternate; then what an order makes possible.
    """
    clean: tuple[tuple[str, Rule], ...] = (
        ("simplify_conditions", _up(simplify_conditions)),
        ("merge_filters", _up(merge_filters)),
        ("factor_disjunctions", _up(factor_disjunctions)),
        ("simplify_outer_joins", _up(simplify_outer_joins)),
        ("push_filters", _down(push_filters)),
        ("push_join_conditions", _down(push_join_conditions)),
        ("merge_projects", _up(merge_projects)),
    )
    known = KnownProperties(tables)
    return (
        Stage("conditions", (*clean, ("infer_equalities", _up(infer_equalities)))),
        Stage(
            "keys",
            (
                ("eliminate_distinct", _up(eliminate_distinct(known))),
                ("eliminate_joins", _up(eliminate_joins(known))),
                ("drop_null_tests", _up(drop_null_tests(known))),
                *clean,
            ),
        ),
        Stage("order", (("order_joins", order_joins(statistics)),), once=True),
        Stage("aggregates", (("push_aggregates", _up(push_aggregates(statistics, numbers))), *clean)),
    )


def optimise(
    query: LogicalQuery,
    tables: Tables,
    statistics: Statistics,
    rules_off: frozenset[str] = frozenset(),
    observer: Observer = lambda _rule, _plan: None,
) -> LogicalQuery:
    """A query with the same answer; the observer is told of every rule that changed the plan."""
    for stage in stages(tables, statistics, numbers_after(query.plan)):
        query = _run(query, stage, rules_off, observer)
    if "prune_columns" in rules_off:
        return query
    pruned = prune_columns(query.plan, frozenset(output.column for output in query.outputs))
    observer("prune_columns", pruned)
    query = replace(query, plan=pruned)
    check_unnested(query)
    return _run(query, Stage("tidy", (("merge_projects", _up(merge_projects)),)), rules_off, observer)


def _run(query: LogicalQuery, stage: Stage, rules_off: frozenset[str], observer: Observer) -> LogicalQuery:
    """Rules that never come to an end leave their last plan, and a warning: in tests that is an error."""
    seen: set[Plan] = set()
    fired: list[str] = []
    while query.plan not in seen and len(seen) < MOST_ROUNDS:
        seen.add(query.plan)
        fired = []
        for name, rule in stage.rules:
            if name in rules_off:
                continue
            plan = keep(rule(query.plan), fields(query.plan))  # whatever order it puts the columns in
            if plan != query.plan:
                query = replace(query, plan=plan)
                check_unnested(query)
                observer(name, plan)
                fired.append(name)
        if stage.once or not fired:
            return query
    warnings.warn(
        f"the rules {', '.join(fired)} of the stage {stage.name!r} do not settle: "
        f"still changing the plan after {len(seen)} rounds",
        UnsettledRulesWarning,
        stacklevel=2,
    )
    return query


def _up(rule: Rule) -> Rule:
    """A rule that applies this one at every node, from below."""
    return lambda plan: transform(plan, rule)


def _down(rule: Rule) -> Rule:
    """A rule that applies this one at every node, from above: a condition goes all its way in one walk."""
    return lambda plan: transform_down(plan, rule)
