"""Columns, literals, casts, and the expressions with a syntax of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from catalog.errors import ELSEWHERE
from catalog.postgres.types import (
    BOOLEAN,
    DATE,
    INT4,
    INT8,
    NAME,
    NO_TYPMOD,
    NUMERIC,
    RECORD,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UNKNOWN,
    SqlType,
)
from dialect.binding.binder import Binder, Rule, bare, folded
from dialect.binding.casts import as_common_type, cast, coerced, computed_type
from dialect.binding.collation import collation_for
from dialect.binding.operators import apply_operator
from dialect.binding.type_names import read_type
from dialect.binding.unbindable import refused, refused_node
from dialect.bound.expression import Collate, Expression, Row, SqlValue, Subscript
from dialect.expressions.scalar import Array, Branch, Case, Coalesce, Constant, Extreme, NullIf

_COLLATION_HINT: Final = 'Use another collation: COLLATE "C", for example.'
_INT4_LIMIT: Final = 2**31
_INT8_LIMIT: Final = 2**63

_SQL_VALUES: Final = {
    "current_catalog": NAME,
    "current_date": DATE,
    "current_role": NAME,
    "current_schema": NAME,
    "current_time": TIMETZ,
    "current_timestamp": TIMESTAMPTZ,
    "current_user": NAME,
    "localtime": TIME,
    "localtimestamp": TIMESTAMP,
    "session_user": NAME,
}
_SQL_VALUE_NODES: Final[Mapping[type[exp.Expr], str]] = {
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentDate: "current_date",
    exp.CurrentRole: "current_role",
    exp.CurrentSchema: "current_schema",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
    exp.SessionUser: "session_user",
}


def sql_value(binder: Binder, name: str, precision: tuple[exp.Expr, ...]) -> Expression:
    """CURRENT_DATE and its like; some take a precision."""
    oid = _SQL_VALUES[name]
    typmod = int(bare(precision[0]).name) if precision else NO_TYPMOD
    return SqlValue(name, SqlType(oid, typmod, binder.signatures.types[oid].collation))


def _sql_value(binder: Binder, node: exp.Expr) -> Expression:
    precision = node.args.get("this")
    return sql_value(binder, _SQL_VALUE_NODES[type(node)], () if precision is None else (precision,))


def _brackets(binder: Binder, node: exp.Expr) -> Expression:
    return binder.expression(node.this)


def _column(binder: Binder, node: exp.Expr) -> Expression:
    if not isinstance(node.this, exp.Identifier) or node.args.get("catalog") is not None:
        raise refused_node(node.this)
    table, schema = node.args.get("table"), node.args.get("db")
    return binder.scope.column(
        folded(node.this),
        None if table is None else folded(table),
        None if schema is None else folded(schema),
    )


def _literal(_: Binder, node: exp.Expr) -> Expression:
    text = str(node.this)
    if not isinstance(node, exp.Literal) or node.is_string:
        return Constant(text, SqlType(UNKNOWN))
    if not text.isdecimal():
        return Constant(text, SqlType(NUMERIC))
    value = int(text)
    return Constant(text, SqlType(INT4 if value < _INT4_LIMIT else INT8 if value < _INT8_LIMIT else NUMERIC))


def _boolean(_: Binder, node: exp.Expr) -> Expression:
    return Constant("true" if node.this else "false", BOOLEAN)


def _null(_: Binder, __: exp.Expr) -> Expression:
    return Constant(None, SqlType(UNKNOWN))


def _cast(binder: Binder, node: exp.Expr) -> Expression:
    target = read_type(node.args["to"], binder.signatures)
    argument = bare(node.this)
    if isinstance(argument, exp.Array) and not argument.expressions:
        return Array((), target)
    bound = binder.expression(argument)
    if isinstance(bound, Constant) and bound.type.oid == UNKNOWN:
        bound = coerced(binder.signatures, bound, target.oid)
    return cast(binder.signatures, bound, target)


def _collate(binder: Binder, node: exp.Expr) -> Expression:
    argument, named = binder.expression(node.this), node.expression
    if isinstance(named, exp.Column) and folded(named.args.get("table", named.this)) == "pg_catalog":
        named = named.this
    if not isinstance(named, exp.Identifier | exp.Var):
        raise refused(f"the collation {named.sql(dialect='postgres')}", _COLLATION_HINT)
    collation = binder.signatures.collations.get(folded(named))
    if collation is None:
        raise refused(f"the collation {named.sql(dialect='postgres')}", _COLLATION_HINT)
    return Collate(argument, replace(argument.type, collation=collation.oid))


def _case(binder: Binder, node: exp.Expr) -> Expression:
    operand = None if node.this is None else binder.expression(node.this)
    conditions = []
    for branch in node.args["ifs"]:
        condition = binder.expression(branch.this)
        conditions.append(condition if operand is None else apply_operator(binder, "=", (operand, condition)))
    default = node.args.get("default")
    results, type_ = as_common_type(
        binder.signatures,
        (
            Constant(None, SqlType(UNKNOWN)) if default is None else binder.expression(default),
            *(binder.expression(branch.args["true"]) for branch in node.args["ifs"]),
        ),
        "CASE",
    )
    branches = (Branch(*pair) for pair in zip(conditions, results[1:], strict=True))
    return Case(tuple(branches), results[0], type_)


def coalesce(binder: Binder, arguments: tuple[Expression, ...]) -> Expression:
    """COALESCE(...)."""
    return Coalesce(*as_common_type(binder.signatures, arguments, "COALESCE"))


def null_if(binder: Binder, arguments: tuple[Expression, ...]) -> Expression:
    """NULLIF(a, b)."""
    equality = apply_operator(binder, "=", arguments)
    first = equality.arguments[0].type
    return NullIf(equality, computed_type(binder.signatures, first.oid, equality.arguments, first.typmod))


def greatest(binder: Binder, arguments: tuple[Expression, ...]) -> Expression:
    """GREATEST(...)."""
    values, type_ = as_common_type(binder.signatures, arguments, "GREATEST")
    return Extreme(True, values, collation_for("string comparison", values), type_)


def least(binder: Binder, arguments: tuple[Expression, ...]) -> Expression:
    """LEAST(...)."""
    values, type_ = as_common_type(binder.signatures, arguments, "LEAST")
    return Extreme(False, values, collation_for("string comparison", values), type_)


def row(_: Binder, fields: tuple[Expression, ...]) -> Expression:
    """ROW(...)."""
    return Row(fields, SqlType(RECORD))


def _tuple(binder: Binder, node: exp.Expr) -> Expression:
    return row(binder, tuple(binder.expression(field) for field in node.expressions))


def _array(binder: Binder, node: exp.Expr) -> Expression:
    if not node.expressions:
        raise refused("an empty array without a cast", "Write '{}'::integer[], for example.")
    elements = tuple(binder.expression(element) for element in node.expressions)
    values, type_ = as_common_type(binder.signatures, elements, "ARRAY")
    signature = binder.signatures.types[type_.oid]
    array = type_.oid if signature.element else signature.array
    if not array:
        raise refused(f"an array of {signature.name}")
    return Array(values, replace(type_, oid=array))


def _subscript(binder: Binder, node: exp.Expr) -> Expression:
    indexes: list[exp.Expr] = []
    while isinstance(node, exp.Bracket):
        indexes[:0] = node.expressions
        node = bare(node.this)
    array = binder.expression(node)
    element = binder.signatures.types[array.type.oid].element
    if not element or any(isinstance(index, exp.Slice) for index in indexes):
        raise refused("an array slice or a subscript of another type than an array", ELSEWHERE)
    bound = tuple(coerced(binder.signatures, binder.expression(index), INT4) for index in indexes)
    return Subscript(array, bound, replace(array.type, oid=element))


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **dict.fromkeys(_SQL_VALUE_NODES, _sql_value),
    exp.Array: _array,
    exp.Boolean: _boolean,
    exp.Bracket: _subscript,
    exp.ByteString: _literal,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Collate: _collate,
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Paren: _brackets,
    exp.Tuple: _tuple,
}
