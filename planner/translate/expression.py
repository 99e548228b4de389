"""Bound expressions to scalars; what depends on other rows becomes a placement or an aggregate call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from dialect.bound import expression as bound
from dialect.bound.expression import Expression
from dialect.expressions.scalar import (
    And,
    Array,
    ArrayComparison,
    Branch,
    Call,
    Case,
    Cast,
    CastMethod,
    Coalesce,
    Composed,
    Constant,
    Element,
    Extreme,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    Notation,
    NullIf,
    Or,
    Quantifier,
    Scalar,
)
from planner.algebra.columns import refer
from planner.algebra.conditions import conjunction, disjunction
from planner.algebra.equality import equal
from planner.algebra.logical import AggregateCall, Field, Order
from planner.algebra.refused import Refused
from planner.translate.scope import Placement, Scope, Translator
from planner.translate.subquery import exists, quantified, quantified_truth, single_value


@dataclass(frozen=True)
class ExpressionTranslator:
    """Translates the expressions of one place; `elements`: what a comparison with a subquery looks at."""

    translator: Translator
    scope: Scope
    placements: list[Placement]
    elements: tuple[Field, ...] = ()

    def comparing(self, elements: tuple[Field, ...]) -> ExpressionTranslator:
        """The same place, where elements of a quantified comparison are these columns."""
        return replace(self, elements=elements)

    def condition(self, expression: Expression) -> Scalar:
        """A scalar that is true where the expression is; it may be false where that is NULL."""
        match expression:
            case And(arguments=arguments):
                return conjunction(self.condition(argument) for argument in arguments)
            case Or(arguments=arguments):
                return disjunction(self.condition(argument) for argument in arguments)
            case bound.QuantifiedSubquery(quantifier=Quantifier.ANY):
                return quantified_truth(self, expression)
        return self.scalar(expression)

    def scalar(self, expression: Expression) -> Scalar:
        """The value of the expression."""
        grouping = self.scope.grouping
        if grouping is not None and grouping.expressions and expression in grouping.expressions:
            return refer(grouping.expressions[expression].field)
        match expression:
            case bound.Column(level=level, source=source, column=column):
                return refer(self.scope.outward(level).column(source, column))
            case bound.SubqueryColumn(column=column):
                return refer(self.elements[column])
            case bound.Operator():
                return self._operator(expression)
            case bound.Function():
                return self._function(expression)
            case bound.Collate(argument=argument, type=type_):
                return Cast(self.scalar(argument), CastMethod.RELABEL, 0, type_)
            case bound.RowComparison(name=name, pairs=pairs):
                return _rows(name, tuple(self._operator(pair) for pair in pairs))
            case bound.ScalarSubquery() | bound.Exists() | bound.QuantifiedSubquery() | bound.ArraySubquery():
                return self._subquery(expression)
            case bound.Aggregate():
                return self._aggregate(expression)
            case bound.Output() | bound.SqlValue() | bound.Subscript() | bound.Row() | bound.Window():
                raise _refusal(expression).error
            case _:
                return self._composed(expression)

    def _operator(self, operator: bound.Operator) -> Call:
        arguments = self._all(operator.arguments)
        return Call(
            operator.function, operator.name, Notation.OPERATOR, arguments, operator.collation, operator.type
        )

    def _function(self, call: bound.Function) -> Call:
        if call.variadic:
            raise Refused.VARIADIC.error
        arguments = self._all(call.arguments)
        return Call(call.oid, call.name, Notation.FUNCTION, arguments, call.collation, call.type)

    def _subquery(
        self,
        expression: bound.ScalarSubquery | bound.Exists | bound.QuantifiedSubquery | bound.ArraySubquery,
    ) -> Scalar:
        match expression:
            case bound.ScalarSubquery(query=query):
                return single_value(self, query)
            case bound.Exists(query=query):
                return exists(self, query)
            case bound.QuantifiedSubquery():
                return quantified(self, expression)
            case bound.ArraySubquery():
                raise Refused.ARRAY_SUBQUERY.error
            case _:
                assert_never(expression)

    def _composed(self, expression: Composed[Expression, bound.Operator]) -> Scalar:  # noqa: C901 (a case for each kind)
        match expression:
            case Constant() | Element():
                return expression
            case Cast(argument=argument, method=method, function=function, type=type_):
                return Cast(self.scalar(argument), method, function, type_)
            case And(arguments=arguments):
                return conjunction(self._all(arguments))
            case Or(arguments=arguments):
                return disjunction(self._all(arguments))
            case Not(argument=argument):
                return Not(self.scalar(argument))
            case IsNull(argument=argument):
                return IsNull(self.scalar(argument))
            case IsTruth(argument=argument, truth=truth):
                return IsTruth(self.scalar(argument), truth)
            case IsDistinct(equality=equality):
                return IsDistinct(self._operator(equality))
            case Case(branches=branches, default=default, type=type_):
                whens = (
                    Branch(self.condition(branch.condition), self.scalar(branch.result))
                    for branch in branches
                )
                return Case(tuple(whens), self.scalar(default), type_)
            case Coalesce(arguments=arguments, type=type_):
                return Coalesce(self._all(arguments), type_)
            case NullIf(equality=equality, type=type_):
                return NullIf(self._operator(equality), type_)
            case Extreme(greatest=greatest, arguments=arguments, collation=collation, type=type_):
                return Extreme(greatest, self._all(arguments), collation, type_)
            case Array(elements=elements, type=type_):
                if any(element.type.oid == type_.oid for element in elements):
                    raise Refused.ARRAY_OF_ARRAYS.error
                return Array(self._all(elements), type_)
            case ArrayComparison(quantifier=quantifier, comparison=comparison, array=array):
                return ArrayComparison(quantifier, self._operator(comparison), self.scalar(array))
            case _:
                assert_never(expression)

    def _aggregate(self, aggregate: bound.Aggregate) -> Scalar:
        """A column of the aggregate of its query; its arguments see what is below that."""
        grouping = self.scope.outward(aggregate.level).grouping
        assert grouping is not None
        place = grouping.place
        below = ExpressionTranslator(
            place.translator, _lowered(self.scope, aggregate.level, place.scope), place.placements
        )
        condition = None if aggregate.condition is None else below.condition(aggregate.condition)
        call = AggregateCall(
            aggregate.oid,
            aggregate.name,
            below._all(aggregate.arguments),
            aggregate.type,
            distinct=aggregate.distinct,
            order=tuple(below.order(key) for key in aggregate.order),
            condition=condition,
            collation=aggregate.collation,
        )
        if call not in grouping.calls:
            grouping.calls[call] = self.translator.numbers.field(call.name, call.type)
        return refer(grouping.calls[call])

    def order(self, key: bound.SortKey) -> Order:
        """One key of an order."""
        return Order(self.scalar(key.expression), key.descending, key.nulls_first)

    def _all(self, expressions: tuple[Expression, ...]) -> tuple[Scalar, ...]:
        return tuple(self.scalar(expression) for expression in expressions)


def _lowered(scope: Scope, level: int, bottom: Scope) -> Scope:
    """The scope with another one in place of that `level` queries up."""
    if level == 0:
        return bottom
    assert scope.outer is not None
    return replace(scope, outer=_lowered(scope.outer, level - 1, bottom))


def _rows(name: str, pairs: tuple[Call, ...]) -> Scalar:
    """The first pair that is unequal decides; where one before it is NULL, so is the outcome."""
    if name == "=":
        return conjunction(pairs)
    if name == "<>":
        return disjunction(pairs)
    first, *rest = pairs
    if not rest:
        return first
    equality = equal(*first.arguments)
    if equality is None:
        raise Refused.ROW_ORDER.error_for(first.arguments[0].type)
    decided = conjunction((first, Not(equality)))
    return disjunction((decided, conjunction((equality, _rows(name, tuple(rest))))))


def _refusal(
    expression: bound.Output | bound.SqlValue | bound.Subscript | bound.Row | bound.Window,
) -> Refused:
    match expression:
        case bound.SqlValue():
            return Refused.VALUE_OF_SESSION
        case bound.Subscript():
            return Refused.SUBSCRIPT
        case bound.Row():
            return Refused.ROW
        case bound.Window():
            return Refused.WINDOW
        case bound.Output():
            raise AssertionError("an output column stands in ORDER BY alone")
        case _:
            assert_never(expression)
