"""FROM: tables, subqueries and joins; their columns become known in the scope."""

from __future__ import annotations

from typing import Final, assert_never

from dialect.bound.query import CommonTableScan, Derived, FromItem, Join, JoinKind, Scan
from planner.algebra import logical
from planner.algebra.columns import column_numbers
from planner.algebra.conditions import TRUE, conjunction
from planner.algebra.logical import DependentPlan, Field, TableColumn
from planner.algebra.refused import Refused
from planner.translate.condition import split_condition
from planner.translate.expression import ExpressionTranslator
from planner.translate.scope import ONE_ROW, Placement, Relation, Scope, Translator, joined

_KINDS: Final = {
    JoinKind.LEFT: logical.JoinKind.LEFT,
    JoinKind.RIGHT: logical.JoinKind.LEFT,
    JoinKind.FULL: logical.JoinKind.FULL,
}


def translate_from(translator: Translator, items: tuple[FromItem, ...], scope: Scope) -> DependentPlan:
    """All pairs of the items' rows; of no items: one row without columns."""
    plan: DependentPlan | None = None
    for item in items:
        right = _item(translator, item, scope)
        plan = right if plan is None else joined(logical.JoinKind.INNER, plan, right, TRUE)
    return ONE_ROW if plan is None else plan


def _item(translator: Translator, item: FromItem, scope: Scope) -> DependentPlan:
    match item:
        case Scan():
            return _scan(translator, item, scope)
        case CommonTableScan(level=level, common_table=number):
            definer = scope.outward(level)
            relation = translator.query(definer.common_tables[number].query, definer)
            return _named(item.source, relation, scope)
        case Derived(source=source, query=query):
            return _named(source, translator.query(query, scope), scope)
        case Join():
            return _join(translator, item, scope)
        case _:
            assert_never(item)


def _named(source: int, relation: Relation, scope: Scope) -> DependentPlan:
    for number, column in enumerate(relation.columns):
        scope.columns[source, number] = column
    return relation.plan


def _scan(translator: Translator, scan: Scan, scope: Scope) -> DependentPlan:
    columns: list[TableColumn] = []
    table = translator.tables[scan.table]
    places = zip(scan.columns, (table.columns[place] for place in scan.places), strict=True)
    for number, (output, column) in enumerate(places):
        field: Field = translator.numbers.field(output.name, output.type)
        scope.columns[scan.source, number] = field
        columns.append(TableColumn(field, column.attribute))
    return logical.Scan(scan.table, scan.alias, tuple(columns))


def _join(translator: Translator, join: Join, scope: Scope) -> DependentPlan:
    left, right = (_item(translator, item, scope) for item in (join.left, join.right))
    if join.kind is JoinKind.INNER:
        condition = split_condition(translator, scope, join.condition)
        pairs = joined(logical.JoinKind.INNER, left, right, conjunction(condition.plain))
        return condition.after(pairs)
    if join.kind is JoinKind.RIGHT:
        left, right = right, left
    return _outer_join(translator, join, left, right, scope)


def _outer_join(
    translator: Translator, join: Join, left: DependentPlan, right: DependentPlan, scope: Scope
) -> DependentPlan:
    """A subquery in the condition is joined to the side that it depends on, before the outer join."""
    place = ExpressionTranslator(translator, scope, [])
    condition = TRUE if join.condition is None else place.condition(join.condition)
    if place.placements:
        left, right = _with_subqueries(left, right, place.placements)
    return joined(_KINDS[join.kind], left, right, condition)


def _with_subqueries(
    left: DependentPlan, right: DependentPlan, placements: list[Placement]
) -> tuple[DependentPlan, DependentPlan]:
    for placement in placements:
        if not placement.needs & column_numbers(left):
            right = placement.on(right)
        elif not placement.needs & column_numbers(right):
            left = placement.on(left)
        else:
            raise Refused.ON_BOTH_SIDES.error
    return left, right
