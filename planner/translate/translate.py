"""From a bound query to a plan, where each subquery is joined to the rows that it is computed for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from catalog.postgres.schema import Tables
from dialect.bound.expression import Expression, Output, SortKey
from dialect.bound.query import Query, Select, SetOperation
from dialect.depth import limited_depth
from dialect.expressions.scalar import Cast, Constant
from planner.algebra.columns import Numbers, passing, refer, references
from planner.algebra.logical import (
    Aggregate,
    DependentPlan,
    Field,
    LogicalQuery,
    Order,
    Project,
    Scan,
    Top,
    Values,
    fields,
)
from planner.algebra.logical import Output as LogicalOutput
from planner.algebra.refused import Refused
from planner.algebra.tree import expressions, nodes, transform
from planner.facts.row_limits import at_most_one_row
from planner.translate.first_rows import first_of_each
from planner.translate.scope import Relation, Scope
from planner.translate.select import first_of, translate_rows, translate_select
from planner.translate.set_operations import translate_set, translate_values


def translate(query: Query, tables: Tables) -> LogicalQuery[DependentPlan]:
    """The plan of the query; one WITH query used several times is there as often."""
    with limited_depth():
        relation = _QueryTranslator(tables, Numbers()).query(query, Scope(None))
        outputs = tuple(
            LogicalOutput(output.name, column.column)
            for output, column in zip(query.columns, relation.columns, strict=True)
        )
        return LogicalQuery(_scanning_what_is_read(relation.plan), outputs)


def _scanning_what_is_read(plan: DependentPlan) -> DependentPlan:
    read = references(*(expression for node in nodes(plan) for expression in expressions(node)))
    read |= {key.column for node in nodes(plan) if isinstance(node, Aggregate) for key in node.keys}

    def narrow(node: DependentPlan) -> DependentPlan:
        if not isinstance(node, Scan):
            return node
        return replace(node, columns=tuple(column for column in node.columns if column.field.column in read))

    return transform(plan, narrow)


@dataclass(frozen=True)
class _QueryTranslator:
    tables: Tables
    numbers: Numbers

    def query(self, query: Query, outer: Scope) -> Relation:
        scope = Scope(outer, query.common_tables)
        limit, offset = _count(query.limit), _count(query.offset) or 0
        groups = first_of(query.body) if isinstance(query.body, Select) else ()
        if limit is None and not offset and not groups:
            return self._body(query, scope, ())[0]
        wanted = (*(key.expression for key in query.order), *groups)
        relation, keys = self._body(query, scope, wanted)
        order = _total(query.order, keys, relation.columns)
        plan = relation.plan
        if groups:
            plan = first_of_each(plan, keys[len(query.order) :], order, self.numbers)
        plan = self._cut(plan, order, limit, offset)
        return Relation(_without(plan, keys, relation.columns), relation.columns)

    def _cut(
        self, plan: DependentPlan, order: tuple[Order, ...], limit: int | None, offset: int
    ) -> DependentPlan:
        if limit == 0:
            return Values((), fields(plan))
        if not offset and (limit is None or at_most_one_row(plan, self.tables)):
            return plan
        return Top(plan, order, limit, offset)

    def existence(self, query: Query, outer: Scope) -> DependentPlan:
        limit, offset = _count(query.limit), _count(query.offset)
        cut = offset or limit == 0
        if isinstance(query.body, Select) and not query.body.grouped and not cut:
            return translate_rows(self, query.body, Scope(outer, query.common_tables))
        return self.query(query, outer).plan

    def _body(
        self, query: Query, scope: Scope, order: tuple[Expression, ...]
    ) -> tuple[Relation, tuple[Field, ...]]:
        """The body's relation, and the columns that the expressions of the order are."""
        if isinstance(query.body, Select):
            return translate_select(self, query.body, scope, order)
        relation = (
            translate_set(self, query.body, scope)
            if isinstance(query.body, SetOperation)
            else translate_values(self, query.body, scope)
        )
        return relation, tuple(_output(relation, key) for key in order)


def _output(relation: Relation, expression: Expression) -> Field:
    assert isinstance(expression, Output), expression
    return relation.columns[expression.column]


def _total(
    order: tuple[SortKey, ...], keys: tuple[Field, ...], columns: tuple[Field, ...]
) -> tuple[Order, ...]:
    """The order, in which rows that it leaves equal are told apart by all columns of the result."""
    asked = tuple(
        Order(refer(key), key_order.descending, key_order.nulls_first)
        for key, key_order in zip(keys, order, strict=False)
    )
    others = dict.fromkeys(field for field in columns if field not in keys[: len(order)])
    return asked + tuple(Order(refer(field), False, False, breaks_ties=True) for field in others)


def _without(plan: DependentPlan, keys: tuple[Field, ...], columns: tuple[Field, ...]) -> DependentPlan:
    """The plan without the keys that are no columns of the result."""
    if set(keys) <= set(columns):
        return plan
    return Project(plan, passing(dict.fromkeys(columns)))


def _count(expression: Expression | None) -> int | None:
    """The number that a LIMIT or OFFSET is; NULL is as good as none."""
    match expression:
        case None | Constant(text=None):
            return None
        case Cast(argument=argument):
            return _count(argument)
        case Constant(text=str() as text) if text.isdecimal():
            return int(text)
    raise Refused.LIMIT.error
