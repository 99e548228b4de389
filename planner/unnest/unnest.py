"""Turns dependent joins into joins, so that nothing is computed once for each row of another plan.

The method is general: any subquery can be computed once for the distinct values of the columns that it
depends on (`domain.py`). Most subqueries need no domain: their dependence is a filter that can be checked in
the join (`pull.py`).
"""

from __future__ import annotations

from typing import Final

from catalog.errors import StatementTooComplex
from dialect.depth import limited_depth
from dialect.expressions.scalar import IsTruth, Not, Scalar, Truth
from planner.algebra.columns import (
    Numbers,
    column_numbers,
    free_columns,
    keep,
    numbers_after,
    passing,
    references,
    substitute,
)
from planner.algebra.conditions import TRUE, conjunction, is_true
from planner.algebra.logical import (
    SINGLE,
    Aggregate,
    DependentJoin,
    DependentPlan,
    Filter,
    Join,
    JoinKind,
    LogicalQuery,
    Plan,
    Project,
    fields,
)
from planner.algebra.tree import children, expressions, nodes, over
from planner.facts.row_limits import exactly_one_row
from planner.unnest.domain import groups_over_domain, over_domain, with_counts
from planner.unnest.pull import pull, pull_keys

_MOST_NODES: Final = 2_000
"""The most nodes without dependent joins; a larger plan would take seconds to plan, and far longer to run."""


def unnest(query: LogicalQuery[DependentPlan]) -> LogicalQuery:
    """The query without dependent joins; the innermost go first."""
    with limited_depth():
        return LogicalQuery(_unnested(query.plan, numbers_after(query.plan)), query.outputs)


def _unnested(plan: DependentPlan, numbers: Numbers) -> Plan:
    inputs = tuple(_unnested(child, numbers) for child in children(plan))
    if isinstance(plan, DependentJoin):
        left, right = inputs
        return _bounded(_join(DependentJoin(plan.kind, left, right, plan.condition), numbers))
    return over(plan, inputs)


def _bounded(plan: Plan) -> Plan:
    """The plan; refused if copies of the domains have made it too large."""
    if sum(1 for _ in nodes(plan)) > _MOST_NODES:
        raise StatementTooComplex(
            "too many subqueries depend on each other's values",
            hint="Write some of them as joins, or keep their values in a column of a table.",
        )
    return plan


def _join(join: DependentJoin, numbers: Numbers) -> Plan:
    if not free_columns(join.right) & column_numbers(join.left):
        return Join(join.kind, join.left, join.right, join.condition)
    return (
        _one_partner(join, numbers)
        or _project_above(join, numbers)
        or _groups_beside(join, numbers)
        or _condition_above(join, numbers)
        or over_domain(join, numbers)
    )


def _one_partner(join: DependentJoin, numbers: Numbers) -> Plan | None:
    """If each left row has exactly one partner without the condition, every kind of join is an inner join.

    Not a LEFT join with a condition: rows for which it is not true are kept without a partner.
    """
    if join.kind is JoinKind.INNER or not exactly_one_row(join.right):
        return None
    paired = DependentJoin(JoinKind.INNER, join.left, join.right, TRUE)
    match join.kind:
        case JoinKind.SEMI:
            wanted = join.condition
        case JoinKind.ANTI:
            wanted = Not(IsTruth(join.condition, Truth.TRUE))
        case _ if is_true(join.condition):
            return _join(paired, numbers)
        case _:
            return None
    return keep(Filter(_join(paired, numbers), wanted), fields(join.left))


def _project_above(join: DependentJoin, numbers: Numbers) -> Plan | None:
    """L ⋈ π(R) = π(L ⋈ R); semi- and anti-joins only need the values in the condition.

    Not for LEFT: an expression over a missing row need not be NULL.
    """
    if not isinstance(join.right, Project) or join.kind is JoinKind.LEFT:
        return None
    meaning = {column.field.column: column.value for column in join.right.columns}
    condition = substitute(join.condition, meaning)
    below = _join(DependentJoin(join.kind, join.left, join.right.input, condition), numbers)
    if join.kind is not JoinKind.INNER:
        return below
    return Project(below, passing(fields(join.left)) + join.right.columns)


def _groups_beside(join: DependentJoin, numbers: Numbers) -> Plan | None:
    """L ⋈ γ(σ(R.k = L.k)) = L ⟕ γ_k(R) on R.k = L.k: the group becomes one of many, missing if empty."""
    if join.kind is not JoinKind.INNER or not isinstance(join.right, Aggregate) or join.right.keys:
        return None
    groups, condition = _groups(join, join.right, numbers) or groups_over_domain(join, join.right, numbers)
    groups, counts = with_counts(groups, numbers)
    paired: Plan = Join(JoinKind.LEFT, join.left, groups, condition)
    if counts is not None:
        paired = Project(paired, passing(fields(join.left)) + counts)
    return paired if is_true(join.condition) else Filter(paired, join.condition)


def _groups(join: DependentJoin, aggregate: Aggregate, numbers: Numbers) -> tuple[Aggregate, Scalar] | None:
    """All groups, if equalities select the group of a left row.

    Not where a second row is an error: a group that no left row selects may have two.
    """
    outer = column_numbers(join.left)
    raises = any(column.call.function == SINGLE for column in aggregate.columns)
    if raises or references(*expressions(aggregate)) & outer:
        return None
    pulled = pull_keys(aggregate.input, outer, numbers)
    if pulled is None:
        return None
    return Aggregate(pulled.plan, pulled.exposed, aggregate.columns), conjunction(pulled.conditions)


def _condition_above(join: DependentJoin, numbers: Numbers) -> Plan | None:
    """L ⋈ σ(R) = L ⋈ R with the filter's condition added, for every kind of join."""
    as_set = join.kind in (JoinKind.SEMI, JoinKind.ANTI)
    pulled = pull(join.right, column_numbers(join.left), numbers, as_set=as_set)
    if pulled is None:
        return None
    return Join(join.kind, join.left, pulled.plan, conjunction((join.condition, *pulled.conditions)))
