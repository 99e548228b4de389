"""Pushes filters below the nodes whose work they do not need."""

from __future__ import annotations

from collections.abc import Iterable

from dialect.expressions.scalar import Reference, Scalar
from planner.algebra.columns import column_numbers, references, substitute
from planner.algebra.conditions import conjunction, conjuncts
from planner.algebra.logical import Aggregate, Distinct, Filter, Join, JoinKind, Plan, Project, Union, fields
from planner.optimise.rules.merge_filters import merge_filters


def push_filters(plan: Plan) -> Plan:
    """σ below π, ∪, δ, γ (on its keys) and ⋈ (on a side whose rows are kept as they are).

    Not below an aggregate where it reads an aggregated column, nor to the padded side of an outer join: `(a
    LEFT JOIN b) WHERE b.x IS NULL` keeps rows that `a LEFT JOIN (b WHERE b.x IS NULL)` keeps otherwise. Not
    below an aggregate without keys: it gives a row also over no rows. Filters that meet on their way down
    become one.
    """
    match plan:
        case Filter(input=Filter()):
            return push_filters(merge_filters(plan))
        case Filter(input=Project(input=child, columns=columns), condition=condition):
            meaning = {column.field.column: column.value for column in columns}
            return Project(Filter(child, substitute(condition, meaning)), columns)
        case Filter(input=Distinct(input=child), condition=condition):
            return Distinct(Filter(child, condition))
        case Filter(input=Union() as union, condition=condition):
            return Union(
                tuple(Filter(input, of_input(condition, union, input)) for input in union.inputs),
                union.fields,
            )
        case Filter(input=Aggregate() as aggregate, condition=condition):
            return _below_aggregate(aggregate, condition)
        case Filter(input=Join() as join, condition=condition):
            return _below_join(join, condition)
    return plan


def of_input(condition: Scalar, union: Union, child: Plan) -> Scalar:
    """The condition on the rows of a union, restated for the columns of one input."""
    meaning: dict[int, Scalar] = {
        field.column: Reference(input_field.column, input_field.type)
        for field, input_field in zip(union.fields, fields(child), strict=True)
    }
    return substitute(condition, meaning)


def _below_aggregate(aggregate: Aggregate, condition: Scalar) -> Plan:
    keys = frozenset(key.column for key in aggregate.keys)
    below, above = _split(conjuncts(condition), keys)
    if not below or not keys:
        return Filter(aggregate, condition)
    moved = Aggregate(Filter(aggregate.input, conjunction(below)), aggregate.keys, aggregate.columns)
    return filtered(moved, above)


def _below_join(join: Join, condition: Scalar) -> Plan:
    rest: tuple[Scalar, ...] = conjuncts(condition)
    left, right, within = join.left, join.right, join.condition
    if join.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
        below, rest = _split(rest, column_numbers(left))
        left = filtered(left, below)
    if join.kind in (JoinKind.INNER, JoinKind.RIGHT):
        below, rest = _split(rest, column_numbers(right))
        right = filtered(right, below)
    if join.kind is JoinKind.INNER:
        within, rest = conjunction((within, *rest)), ()
    if (left, right, within) == (join.left, join.right, join.condition):
        return Filter(join, condition)
    return filtered(Join(join.kind, left, right, within), rest)


def filtered(plan: Plan, conditions: Iterable[Scalar]) -> Plan:
    """The plan under a filter; the plan itself without conditions."""
    conditions = tuple(conditions)
    return Filter(plan, conjunction(conditions)) if conditions else plan


def _split(
    conditions: Iterable[Scalar], columns: frozenset[int]
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """The conjuncts that read only these columns, and at least one of them; and the others."""
    conditions = tuple(conditions)
    inside = tuple(
        condition for condition in conditions if references(condition) and references(condition) <= columns
    )
    return inside, tuple(condition for condition in conditions if condition not in inside)
