"""Optimises a plan to the one that is cheapest to maintain: rules in stages, each run to its fixpoint."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from catalog.postgres.schema import Tables
from planner.algebra.check import check
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
"""The most rounds of a stage's rules; they take a handful."""

Rule: TypeAlias = Callable[[Plan], Plan]
Observer: TypeAlias = Callable[[str, Plan], None]


class UnsettledRulesWarning(UserWarning):
    """The rules of a stage undo each other: a fault of ours, though the plan means what it should."""


@dataclass(frozen=True, slots=True)
class Step:
    """A rule for whole plans, its name, and the reason for its place."""

    name: str
    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Rules, one after the other: once, or until none of them changes anything.

    `drops_columns`: columns that a rule has dropped, because nothing reads them, are not put back.
    """

    name: str
    steps: tuple[Step, ...]
    once: bool = False
    drops_columns: bool = False


def stages(
    tables: Tables, statistics: Statistics, numbers: Numbers, outputs: frozenset[int]
) -> tuple[Stage, ...]:
    """The rules in their order: first conditions, which all other rules read; after the order of joins the
    rules that it makes possible; columns last."""
    known = KnownProperties(tables)
    tidied = Step("merge_projects", _up(merge_projects), "conditions go through one projection, not several")
    clean = (
        Step("simplify_conditions", _up(simplify_conditions), "what is never true is to stop the others"),
        Step("merge_filters", _up(merge_filters), "each filter is split and pushed as a whole"),
        Step("factor_disjunctions", _up(factor_disjunctions), "what all branches ask can be pushed"),
        Step("simplify_outer_joins", _up(simplify_outer_joins), "filters pass an inner join on both sides"),
        Step("push_filters", _down(push_filters), "the fewer rows, the cheaper all above"),
        Step("push_join_conditions", _down(push_join_conditions), "the same, for conditions in a join"),
        tidied,
    )
    inferred = Step(
        "infer_equalities", _up(infer_equalities), "it needs conditions that stand where they hold"
    )
    unneeded = (
        Step("eliminate_distinct", _up(eliminate_distinct(known)), "while all keys are there to prove it"),
        Step("eliminate_joins", _up(eliminate_joins(known)), "the same, with foreign keys"),
        Step("drop_null_tests", _up(drop_null_tests(known)), "joins that are gone may have brought NULLs"),
    )
    ordered = Step("order_joins", order_joins(statistics), "once: orders of equal costs could alternate")
    added_up = Step(
        "push_aggregates", _up(push_aggregates(statistics, numbers)), "it follows the order of joins"
    )
    pruned = Step(
        "prune_columns", lambda plan: prune_columns(plan, outputs), "all that reads columns is settled"
    )
    return (
        Stage("conditions", (*clean, inferred)),
        Stage("keys", (*unneeded, *clean)),
        Stage("order", (ordered,), once=True),
        Stage("aggregates", (added_up, *clean)),
        Stage("columns", (pruned,), once=True, drops_columns=True),
        Stage("tidy", (tidied,)),
    )


def optimise(
    query: LogicalQuery,
    tables: Tables,
    statistics: Statistics,
    rules_off: frozenset[str] = frozenset(),
    observer: Observer = lambda _rule, _plan: None,
) -> LogicalQuery:
    """A query with the same result; the observer is told of every rule that changed the plan."""
    outputs = frozenset(output.column for output in query.outputs)
    for stage in stages(tables, statistics, numbers_after(query.plan), outputs):
        query = _run(query, stage, rules_off, observer)
    return query


def _run(query: LogicalQuery, stage: Stage, rules_off: frozenset[str], observer: Observer) -> LogicalQuery:
    """The plan after the stage. Rules that never end leave a warning: in tests that is an error."""
    earlier: set[Plan] = set()
    fired: list[str] = []
    while query.plan not in earlier and len(earlier) < MOST_ROUNDS:
        earlier.add(query.plan)
        fired = []
        for step in stage.steps:
            if step.name in rules_off:
                continue
            plan = step.rule(query.plan)
            if not stage.drops_columns:
                plan = keep(plan, fields(query.plan))  # whatever order the rule puts the columns in
            if plan != query.plan:
                query = replace(query, plan=plan)
                check(query)
                observer(step.name, plan)
                fired.append(step.name)
        if stage.once or not fired:
            return query
    warnings.warn(
        f"the rules {', '.join(fired)} of the stage {stage.name!r} do not settle: "
        f"still changing the plan after {len(earlier)} rounds",
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
