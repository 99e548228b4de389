"""Bound expressions to scalars; what hangs on other rows becomes a placement or a call of the aggregate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from dialect.bound import expression as bound
from dialect.bound.expression import Expression
from dialect.expressions.scalar import (
    Array,
    ArrayComparison,
    Branch,
    Call,
    Case,
    Cast,
    CastMethod,
    Coalesce,
    Constant,
    Element,
    Extreme,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    Notation,
    NullIf,
    Scalar,
)
from planner.algebra.columns import refer
from planner.algebra.conditions import conjunction, disjunction
from planner.algebra.equality import equal
from planner.algebra.logical import AggregateCall, Field, Order
from planner.algebra.refused import Refused
from planner.translate.scope import Placement, Scope, Translator
from planner.translate.subquery import exists, quantified, quantified_truth, single_value

_Applied: TypeAlias = bound.Operator | bound.Function | bound.Cast | bound.Collate
_Logical: TypeAlias = (
    bound.And
    | bound.Or
    | bound.Not
    | bound.NullTest
    | bound.BooleanTest
    | bound.Distinct
    | bound.RowComparison
)
_Chosen: TypeAlias = bound.Case | bound.Coalesce | bound.NullIf | bound.Extreme


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
            case bound.And(arguments=arguments):
                return conjunction(self.condition(argument) for argument in arguments)
            case bound.Or(arguments=arguments):
                return disjunction(self.condition(argument) for argument in arguments)
            case bound.QuantifiedSubquery(quantifier=bound.Quantifier.ANY):
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
            case bound.Constant(text=text, type=type_):
                return Constant(text, type_)
            case bound.Element(column=column, type=type_):
                return refer(self.elements[column]) if self.elements else Element(type_)
            case bound.Operator() | bound.Function() | bound.Cast() | bound.Collate():
                return self._applied(expression)
            case bound.Case() | bound.Coalesce() | bound.NullIf() | bound.Extreme():
                return self._chosen(expression)
            case bound.And() | bound.Or() | bound.Not() | bound.NullTest():
                return self._logical(expression)
            case bound.BooleanTest() | bound.Distinct() | bound.RowComparison():
                return self._logical(expression)
            case bound.Aggregate():
                return self._aggregate(expression)
            case _:
                return self._special(expression)

    def _applied(self, expression: _Applied) -> Scalar:
        match expression:
            case bound.Operator():
                return self._operator(expression)
            case bound.Function(variadic=True):
                raise Refused.VARIADIC.error
            case bound.Function(oid=oid, name=name, arguments=arguments, collation=collation, type=type_):
                return Call(oid, name, Notation.FUNCTION, self._all(arguments), collation, type_)
            case bound.Cast(argument=argument, method=method, function=function, type=type_):
                return Cast(self.scalar(argument), method, function, type_)
            case bound.Collate(argument=argument, type=type_):
                return Cast(self.scalar(argument), CastMethod.RELABEL, 0, type_)
            case _:
                assert_never(expression)

    def _operator(self, operator: bound.Operator) -> Call:
        arguments = self._all(operator.arguments)
        return Call(
            operator.function, operator.name, Notation.OPERATOR, arguments, operator.collation, operator.type
        )

    def _chosen(self, expression: _Chosen) -> Scalar:
        match expression:
            case bound.Case(branches=branches, default=default, type=type_):
                whens = (
                    Branch(self.condition(branch.condition), self.scalar(branch.result))
                    for branch in branches
                )
                return Case(tuple(whens), self.scalar(default), type_)
            case bound.Coalesce(arguments=arguments, type=type_):
                return Coalesce(self._all(arguments), type_)
            case bound.NullIf(equality=equality, type=type_):
                return NullIf(self._operator(equality), type_)
            case bound.Extreme(greatest=greatest, arguments=arguments, collation=collation, type=type_):
                return Extreme(greatest, self._all(arguments), collation, type_)
            case _:
                assert_never(expression)

    def _logical(self, expression: _Logical) -> Scalar:
        match expression:
            case bound.And(arguments=arguments):
                return conjunction(self._all(arguments))
            case bound.Or(arguments=arguments):
                return disjunction(self._all(arguments))
            case bound.Not(argument=argument):
                return Not(self.scalar(argument))
            case bound.NullTest(argument=argument, negated=negated):
                return _negated(IsNull(self.scalar(argument)), negated)
            case bound.BooleanTest(argument=argument, truth=truth):
                return IsTruth(self.scalar(argument), truth)
            case bound.Distinct(equality=equality, negated=negated):
                return _negated(IsDistinct(self._operator(equality)), negated)
            case bound.RowComparison(name=name, pairs=pairs):
                return _rows(name, tuple(self._operator(pair) for pair in pairs))
            case _:
                assert_never(expression)

    def _special(
        self,
        expression: bound.Array
        | bound.ArrayComparison
        | bound.ScalarSubquery
        | bound.Exists
        | bound.QuantifiedSubquery
        | bound.ArraySubquery
        | bound.Output
        | bound.SqlValue
        | bound.Subscript
        | bound.Row
        | bound.Window,
    ) -> Scalar:
        match expression:
            case bound.Array(elements=elements, type=type_):
                if any(element.type.oid == type_.oid for element in elements):
                    raise Refused.ARRAY_OF_ARRAYS.error
                return Array(self._all(elements), type_)
            case bound.ArrayComparison(quantifier=quantifier, operator=operator, array=array):
                comparison = self.comparing(())._operator(operator)
                return ArrayComparison(quantifier, comparison, self.scalar(array))
            case bound.ScalarSubquery(query=query):
                return single_value(self, query)
            case bound.Exists(query=query):
                return exists(self, query)
            case bound.QuantifiedSubquery():
                return quantified(self, expression)
            case _:
                raise _refusal(expression).error

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
            aggregate.distinct,
            tuple(below.order(key) for key in aggregate.order),
            condition,
            aggregate.collation,
            aggregate.type,
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


def _negated(scalar: Scalar, negated: bool) -> Scalar:
    return Not(scalar) if negated else scalar


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
        raise Refused.ROW_ORDER.error
    decided = conjunction((first, Not(equality)))
    return disjunction((decided, conjunction((equality, _rows(name, tuple(rest))))))


def _refusal(
    expression: bound.ArraySubquery
    | bound.Output
    | bound.SqlValue
    | bound.Subscript
    | bound.Row
    | bound.Window,
) -> Refused:
    match expression:
        case bound.ArraySubquery():
            return Refused.ARRAY_SUBQUERY
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
