"""Set operations and VALUES."""

from __future__ import annotations

from catalog.postgres.types import BOOLEAN
from dialect.bound import query as bound
from dialect.bound.query import SetKind
from dialect.expressions.scalar import Not, Scalar
from planner.algebra.columns import Numbers, passing, refer, references
from planner.algebra.conditions import FALSE, TRUE, conjunction
from planner.algebra.counts import COUNT, count_rows, is_positive
from planner.algebra.logical import (
    Aggregate,
    Aggregated,
    Computed,
    DependentPlan,
    Distinct,
    Field,
    Filter,
    Project,
    Union,
    Values,
    fields,
)
from planner.algebra.refused import Refused
from planner.translate.expression import ExpressionTranslator
from planner.translate.scope import ONE_ROW, Relation, Scope, Translator, placed


def translate_set(translator: Translator, operation: bound.SetOperation, scope: Scope) -> Relation:
    """The rows of both sides, of their intersection, or of the left side alone."""
    arms = [
        _exactly(translator.numbers, translator.query(query, scope))
        for query in (operation.left, operation.right)
    ]
    columns = tuple(translator.numbers.field(column.name, column.type) for column in operation.columns)
    if operation.kind is not SetKind.UNION:
        return Relation(_sides(translator.numbers, operation, arms, columns), columns)
    union = Union(tuple(node for arm in arms for node in _inputs(arm, operation)), columns)
    return Relation(union if operation.all else Distinct(union), columns)


def translate_values(translator: Translator, values: bound.Values, scope: Scope) -> Relation:
    """The rows written out: as constants if they depend on nothing, else as a union of single rows."""
    columns = tuple(translator.numbers.field(column.name, column.type) for column in values.columns)
    places = [ExpressionTranslator(translator, scope, []) for _ in values.rows]
    rows = [
        tuple(place.scalar(expression) for expression in row)
        for place, row in zip(places, values.rows, strict=True)
    ]
    if not any(place.placements or references(*row) for place, row in zip(places, rows, strict=True)):
        return Relation(Values(tuple(rows), columns), columns)
    inputs = (
        _computed(translator.numbers, placed(ONE_ROW, place.placements), columns, row)
        for place, row in zip(places, rows, strict=True)
    )
    return Relation(Union(tuple(inputs), columns), columns)


def _computed(
    numbers: Numbers, plan: DependentPlan, columns: tuple[Field, ...], row: tuple[Scalar, ...]
) -> DependentPlan:
    named = (numbers.field(field.name, field.type) for field in columns)
    return Project(plan, tuple(Computed(*pair) for pair in zip(named, row, strict=True)))


def _exactly(numbers: Numbers, relation: Relation) -> DependentPlan:
    """The relation's columns by position, none twice."""
    if fields(relation.plan) == relation.columns:
        return relation.plan
    used: set[int] = set()
    computed = []
    for column in relation.columns:
        field = numbers.field(column.name, column.type) if column.column in used else column
        used.add(column.column)
        computed.append(Computed(field, refer(column)))
    return Project(relation.plan, tuple(computed))


def _inputs(arm: DependentPlan, operation: bound.SetOperation) -> tuple[DependentPlan, ...]:
    """The inputs of the arm if it is a union too, else the arm: duplicates are removed above all of them."""
    match arm:
        case Union(inputs=inputs):
            return inputs
        case Distinct(input=Union(inputs=inputs)) if not operation.all:
            return inputs
    return (arm,)


def _sides(
    numbers: Numbers, operation: bound.SetOperation, arms: list[DependentPlan], columns: tuple[Field, ...]
) -> DependentPlan:
    """INTERSECT and EXCEPT: rows are counted on each side."""
    if operation.all:
        raise Refused.ALL_OF_SET.error
    side, left, right = (
        numbers.field("left", BOOLEAN),
        numbers.field("left", COUNT),
        numbers.field("right", COUNT),
    )
    inputs = tuple(
        Project(arm, (*passing(fields(arm)), Computed(numbers.field("left", BOOLEAN), mark)))
        for arm, mark in zip(arms, (TRUE, FALSE), strict=True)
    )
    calls = (
        Aggregated(left, count_rows(refer(side))),
        Aggregated(right, count_rows(Not(refer(side)))),
    )
    counted = Aggregate(Union(inputs, (*columns, side)), columns, calls)
    on_the_right = is_positive(right)
    wanted = on_the_right if operation.kind is SetKind.INTERSECT else Not(on_the_right)
    return Project(Filter(counted, conjunction((is_positive(left), wanted))), passing(columns))
