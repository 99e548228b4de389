"""Subqueries inside expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from catalog.postgres.types import BOOLEAN, SqlType
from dialect.binding.binder import Binder, Rule
from dialect.binding.unbindable import refused
from dialect.bound.expression import (
    ArraySubquery,
    Exists,
    Expression,
    Operator,
    QuantifiedSubquery,
    ScalarSubquery,
    SubqueryColumn,
)
from dialect.bound.query import Query
from dialect.expressions.scalar import Quantifier

Apply = Callable[[Binder, str, Iterable[Expression]], Operator]


def quantified(
    binder: Binder,
    name: str,
    quantifier: Quantifier,
    operands: tuple[Expression, ...],
    node: exp.Expr,
    apply: Apply,
) -> Expression:
    """`operands op ANY (query)`: each operand against the column in its place."""
    query = binder.query(node)
    if len(query.columns) != len(operands) or (len(operands) > 1 and name != "="):
        raise refused(f"a comparison of rows by {name} with a subquery", "Compare the columns one by one.")
    comparisons = tuple(
        apply(binder, name, (operand, SubqueryColumn(number, column.type)))
        for number, (operand, column) in enumerate(zip(operands, query.columns, strict=True))
    )
    return QuantifiedSubquery(quantifier, comparisons, query, BOOLEAN)


def array_of(binder: Binder, node: exp.Expr) -> Expression:
    """ARRAY(query)."""
    query = binder.query(node)
    type_ = _only(query)
    array = binder.signatures.types[type_.oid].array
    if not array:
        raise refused("ARRAY of a subquery whose column has no array type", "Cast the column to text.")
    return ArraySubquery(query, replace(type_, oid=array))


def _scalar(binder: Binder, node: exp.Expr) -> Expression:
    query = binder.query(node)
    return ScalarSubquery(query, _only(query))


def _exists(binder: Binder, node: exp.Expr) -> Expression:
    return Exists(binder.query(node.this), BOOLEAN)


def _only(query: Query) -> SqlType:
    if len(query.columns) != 1:
        raise refused("a subquery of several columns as a value", "Write a subquery for each of the columns.")
    return query.columns[0].type


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.Exists: _exists,
    exp.Select: _scalar,
    exp.Subquery: _scalar,
}
