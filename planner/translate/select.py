"""SELECT: FROM, WHERE, GROUP BY, HAVING, the targets, DISTINCT."""

from __future__ import annotations

from dataclasses import replace

from dialect.bound.expression import Column, Expression
from dialect.bound.query import Select
from dialect.expressions.scalar import Reference, Scalar
from planner.algebra.columns import Numbers, column_numbers, passing
from planner.algebra.logical import (
    Aggregate,
    Aggregated,
    Computed,
    DependentPlan,
    Distinct,
    Field,
    Project,
    fields,
)
from planner.translate.condition import split_condition
from planner.translate.expression import ExpressionTranslator
from planner.translate.from_clause import translate_from
from planner.translate.scope import Grouping, Relation, Scope, Translator, placed


def translate_rows(translator: Translator, select: Select, scope: Scope) -> DependentPlan:
    """The rows of FROM for which WHERE is true."""
    plan = translate_from(translator, select.sources, scope)
    return split_condition(translator, scope, select.condition).on(plan)


def translate_select(
    translator: Translator, select: Select, scope: Scope, order: tuple[Expression, ...]
) -> tuple[Relation, tuple[Field, ...]]:
    """The targets' relation, whose plan also has the columns to order by."""
    plan = translate_rows(translator, select, scope)
    grouping = _grouping(translator, select.group, scope) if select.grouped else None
    scope = replace(scope, grouping=grouping)
    having = split_condition(translator, scope, select.having)
    place = ExpressionTranslator(translator, scope, [])
    targets = tuple((target.name, place.scalar(target.expression)) for target in select.targets)
    keys = tuple(("order", place.scalar(expression)) for expression in order)
    if grouping is not None:
        plan = _grouped(plan, grouping)
    plan = placed(having.on(plan), place.placements)
    projected, columns = _projected(translator.numbers, plan, targets + keys)
    if select.distinct and not first_of(select):
        projected = Distinct(projected)
    relation = Relation(projected, columns[: len(targets)])
    return relation, columns[len(targets) :]


def _grouping(translator: Translator, group: tuple[Expression, ...], scope: Scope) -> Grouping:
    """The keys: columns of the plan, and expressions to be computed below the aggregate."""
    grouping = Grouping(ExpressionTranslator(translator, scope, []))
    for expression in group:
        if isinstance(expression, Column) and expression.level == 0:
            field = scope.column(expression.source, expression.column)
            grouping.keys[field.column] = field
        elif expression not in grouping.expressions:
            scalar = grouping.place.scalar(expression)
            field = translator.numbers.field("key", scalar.type)
            grouping.keys[field.column] = field
            grouping.expressions[expression] = Computed(field, scalar)
    return grouping


def _grouped(plan: DependentPlan, grouping: Grouping) -> DependentPlan:
    """The aggregate, once all of its columns are known."""
    plan = placed(plan, grouping.place.placements)
    if grouping.expressions:
        plan = Project(plan, (*passing(fields(plan)), *grouping.expressions.values()))
    columns = tuple(Aggregated(field, call) for call, field in grouping.calls.items())
    return Aggregate(plan, tuple(grouping.keys.values()), columns)


def _projected(
    numbers: Numbers, plan: DependentPlan, values: tuple[tuple[str, Scalar], ...]
) -> tuple[DependentPlan, tuple[Field, ...]]:
    """The values computed from the plan, each once; a column of the plan keeps its number."""
    numbers_below = column_numbers(plan)
    columns_by_value: dict[Scalar, Field] = {}
    for name, value in values:
        if value in columns_by_value:
            continue
        if isinstance(value, Reference) and value.column in numbers_below:
            columns_by_value[value] = Field(value.column, name, value.type)
        else:
            columns_by_value[value] = numbers.field(name, value.type)
    columns = tuple(Computed(field, value) for value, field in columns_by_value.items())
    return Project(plan, columns), tuple(columns_by_value[value] for _, value in values)


def first_of(select: Select) -> tuple[Expression, ...]:
    """The groups of DISTINCT ON, whose first rows are taken; none where plain DISTINCT is the same."""
    if set(select.distinct_on) == {target.expression for target in select.targets}:
        return ()
    return select.distinct_on
