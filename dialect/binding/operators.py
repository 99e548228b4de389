"""Operators, comparisons and logic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from sqlglot import exp

from catalog.postgres.signatures import OperatorSignature
from catalog.postgres.types import BOOLEAN
from dialect.binding.binder import Binder, Rule, bare
from dialect.binding.casts import coerced, computed_type
from dialect.binding.collation import collation_for, derive
from dialect.binding.resolve import find_operator
from dialect.binding.sqlglot_postgres import Plus
from dialect.binding.subqueries import quantified
from dialect.binding.unbindable import refused, refused_node
from dialect.bound.expression import Expression, Operator, Row, RowComparison
from dialect.expressions.scalar import (
    And,
    ArrayComparison,
    Constant,
    Element,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    Or,
    Quantifier,
    Truth,
)

_SYMBOLS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.ArrayContainedBy: "<@",
    exp.ArrayContainsAll: "@>",
    exp.ArrayOverlaps: "&&",
    exp.BitwiseAnd: "&",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseOr: "|",
    exp.BitwiseRightShift: ">>",
    exp.BitwiseXor: "#",
    exp.DPipe: "||",
    exp.Div: "/",
    exp.EQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.ILike: "~~*",
    exp.JSONBContainsTopKey: "?",
    exp.JSONBExtract: "#>",
    exp.JSONBExtractScalar: "#>>",
    exp.JSONExtract: "->",
    exp.JSONExtractScalar: "->>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Like: "~~",
    exp.Mod: "%",
    exp.Mul: "*",
    exp.NEQ: "<>",
    exp.Pow: "^",
    exp.RegexpILike: "~*",
    exp.RegexpLike: "~",
    exp.Sub: "-",
}
_PREFIXES: Final[Mapping[type[exp.Expr], str]] = {
    exp.Abs: "@",
    exp.BitwiseNot: "~",
    exp.Cbrt: "||/",
    exp.Neg: "-",
    exp.Sqrt: "|/",
    Plus: "+",
}


def apply_operator(binder: Binder, name: str, arguments: Iterable[Expression]) -> Operator:
    """The operator of this name on these arguments, cast to what it takes."""
    given = tuple(arguments)
    meaning = find_operator(binder.signatures, name, tuple(operand.type.oid for operand in given))
    assert isinstance(meaning.signature, OperatorSignature)
    taken = tuple(
        coerced(binder.signatures, operand, oid)
        for operand, oid in zip(given, meaning.arguments, strict=True)
    )
    return Operator(
        meaning.signature.oid,
        meaning.signature.function,
        name,
        taken,
        _collation(name, taken),
        computed_type(binder.signatures, meaning.result, taken),
    )


def _collation(name: str, arguments: tuple[Expression, ...]) -> int:
    match name:
        case "||":
            return derive(arguments).collation
        case "~~" | "!~~":
            return collation_for("LIKE", arguments)
        case "~~*" | "!~~*":
            return collation_for("ILIKE", arguments)
        case "~" | "!~" | "~*" | "!~*":
            return collation_for("regular expression", arguments)
    return collation_for("string comparison", arguments)


def _binary(binder: Binder, node: exp.Expr) -> Expression:
    name = _SYMBOLS[type(node)]
    if isinstance(node, exp.Like | exp.ILike) and node.args.get("negate"):
        name = "!" + name
    left, right = node.this, bare(node.expression)
    match right:
        case exp.Any():
            return _quantified(binder, name, Quantifier.ANY, left, right.this)
        case exp.All():
            return _quantified(binder, name, Quantifier.ALL, left, right.this)
        case exp.Anonymous() if right.name.upper() == "ALL" and not isinstance(right.this, exp.Identifier):
            return _quantified(binder, name, Quantifier.ALL, left, right.expressions[0])
    one, other = binder.expression(left), binder.expression(right)
    if isinstance(one, Row) and isinstance(other, Row):
        return _row_comparison(binder, name, one, other)
    return apply_operator(binder, name, (one, other))


def _quantified(
    binder: Binder, name: str, quantifier: Quantifier, left: exp.Expr, right: exp.Expr
) -> Expression:
    operand, values = binder.expression(left), bare(right)
    if isinstance(values, exp.Query):
        fields = operand.fields if isinstance(operand, Row) else (operand,)
        return quantified(binder, name, quantifier, fields, values, apply_operator)
    array = binder.expression(values)
    element = binder.signatures.types[array.type.oid].element
    if not element:
        raise refused_node(right)
    stand_in = Element(computed_type(binder.signatures, element, (array,), array.type.typmod))
    return ArrayComparison(quantifier, apply_operator(binder, name, (operand, stand_in)), array)


def _in(binder: Binder, node: exp.Expr) -> Expression:
    query = node.args.get("query")
    if query is None:
        raise refused_node(node)
    return _quantified(binder, "=", Quantifier.ANY, node.this, query)


def _row_comparison(binder: Binder, name: str, left: Row, right: Row) -> Expression:
    if name not in ("<", "<=", ">", ">=") or len(left.fields) != len(right.fields):
        raise refused(f"a comparison of rows by {name}", "Compare the columns one by one.")
    pairs = zip(left.fields, right.fields, strict=True)
    return RowComparison(name, tuple(apply_operator(binder, name, pair) for pair in pairs), BOOLEAN)


def _prefix(binder: Binder, node: exp.Expr) -> Expression:
    operand = bare(node.this)
    if isinstance(node, exp.Neg) and isinstance(operand, exp.Literal) and not operand.is_string:
        constant = binder.expression(operand)
        assert isinstance(constant, Constant)
        return Constant(f"-{constant.text}", constant.type)
    return apply_operator(binder, _PREFIXES[type(node)], (binder.expression(operand),))


def _logic(binder: Binder, node: exp.Expr) -> Expression:
    kind = And if isinstance(node, exp.And) else Or
    arguments: list[Expression] = []
    for operand in node.flatten():
        argument = binder.expression(operand)
        arguments.extend(argument.arguments if isinstance(argument, kind) else (argument,))
    return kind(tuple(arguments))


def _not(binder: Binder, node: exp.Expr) -> Expression:
    return Not(binder.expression(node.this))


def _is(binder: Binder, node: exp.Expr) -> Expression:
    argument, test = binder.expression(node.this), bare(node.expression)
    negated = bool(node.args.get("negate"))
    if isinstance(test, exp.Null):
        return _negated(IsNull(argument), negated)
    if isinstance(test, exp.Boolean):
        return _negated(IsTruth(argument, Truth.TRUE if test.this else Truth.FALSE), negated)
    raise refused_node(node)


def _distinct(binder: Binder, node: exp.Expr) -> Expression:
    arguments = binder.expression(node.this), binder.expression(node.expression)
    if any(isinstance(argument, Row) for argument in arguments):
        raise refused("IS DISTINCT FROM between rows", "Compare the columns one by one.")
    return _negated(IsDistinct(apply_operator(binder, "=", arguments)), isinstance(node, exp.NullSafeEQ))


def _negated(expression: Expression, negated: bool) -> Expression:
    return Not(expression) if negated else expression


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **dict.fromkeys(_SYMBOLS, _binary),
    **dict.fromkeys(_PREFIXES, _prefix),
    exp.And: _logic,
    exp.In: _in,
    exp.Is: _is,
    exp.Not: _not,
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
    exp.Or: _logic,
}
