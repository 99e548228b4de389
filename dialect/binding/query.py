"""Binds queries: WITH, SELECT, VALUES, set operations, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from catalog.postgres.schema import Tables
from catalog.postgres.signatures import Signatures
from catalog.postgres.types import INT8, TEXT, UNKNOWN, SqlType
from dialect.binding.binder import bare, folded
from dialect.binding.calls import sort_key
from dialect.binding.casts import as_common_type, coerced
from dialect.binding.expression import ExpressionBinder
from dialect.binding.from_clause import FromBinder
from dialect.binding.scope import CommonName, Scope
from dialect.binding.unbindable import refused, refused_node
from dialect.binding.views import BoundViews
from dialect.bound.expression import Column, Expression, Output, SortKey
from dialect.bound.query import (
    Body,
    CommonTable,
    Derived,
    OutputColumn,
    Query,
    Select,
    SetKind,
    SetOperation,
    Target,
    Values,
)
from dialect.bound.walk import has_aggregate

_SET_KINDS: Final[Mapping[type[exp.Expr], SetKind]] = {
    exp.Union: SetKind.UNION,
    exp.Intersect: SetKind.INTERSECT,
    exp.Except: SetKind.EXCEPT,
}
_UNNAMED: Final = "?column?"
_REFUSED_PARTS: Final = (
    "locks",
    "sample",
    "qualify",
    "connect",
    "laterals",
    "into",
    "hint",
    "cluster",
    "pivots",
)


@dataclass(frozen=True, slots=True)
class QueryBinder:
    """Binds queries over these tables and views."""

    signatures: Signatures
    tables: Tables
    views: BoundViews

    def query(self, node: exp.Expr, outer: Scope | None) -> Query:
        """Bind a query inside another's scope (None: the outermost)."""
        while isinstance(node, exp.Subquery) and not _has_parts(node):
            node = node.this
        common_tables, scope = self._common_tables(node, Scope(outer=outer))
        match node:
            case exp.Select():
                return self._select(node, common_tables, scope)
            case exp.SetOperation():
                return self._set_operation(node, common_tables, scope)
            case exp.Values():
                return self._values(node, common_tables, scope)
        raise refused_node(node)

    def _common_tables(self, node: exp.Expr, scope: Scope) -> tuple[tuple[CommonTable, ...], Scope]:
        clause = node.args.get("with_")
        if clause is None:
            return (), scope
        if clause.args.get("recursive"):
            raise refused("WITH RECURSIVE", "Keep the closure in a table of its own.")
        bound: list[CommonTable] = []
        for number, table in enumerate(clause.expressions):
            alias = table.args["alias"]
            query = self.query(table.this, scope)
            name, names = (
                folded(alias.this),
                tuple(folded(column) for column in alias.args.get("columns") or ()),
            )
            names += tuple(column.name for column in query.columns[len(names) :])
            columns = tuple(
                replace(column, name=new) for column, new in zip(query.columns, names, strict=True)
            )
            bound.append(CommonTable(name, query, table.args.get("materialized")))
            known = {**scope.common_tables, name: CommonName(number, columns)}
            scope = replace(scope, common_tables=known)
        return tuple(bound), scope

    def _select(self, node: exp.Select, common_tables: tuple[CommonTable, ...], scope: Scope) -> Query:
        for part in _REFUSED_PARTS:
            if node.args.get(part):
                refused_part = node.args[part]
                raise refused_node(refused_part[0] if isinstance(refused_part, list) else refused_part)
        sources = FromBinder(self.signatures, self.tables, self.views, scope, self.query)
        items = sources.items(node)
        windows = {folded(window.this): window for window in node.args.get("windows") or ()}
        binder = ExpressionBinder(self.signatures, sources.scope, self.query, windows)
        targets = tuple(self._target(binder, target) for target in node.expressions)
        order = self._order(binder, node, targets)
        having = _optional(binder, node.args.get("having"))
        group = self._group(binder, node, targets)
        distinct = node.args.get("distinct")
        values = (*(target.expression for target in targets), *(key.expression for key in order))
        body = Select(
            sources=items,
            condition=_optional(binder, node.args.get("where")),
            grouped=bool(group) or having is not None or has_aggregate(values),
            group=group,
            having=having,
            targets=targets,
            distinct=distinct is not None,
            distinct_on=self._distinct_on(binder, distinct, targets),
        )
        columns = tuple(OutputColumn(target.name, target.expression.type) for target in targets)
        return self._query(binder, node, common_tables, body, order, columns)

    def _target(self, binder: ExpressionBinder, node: exp.Expr) -> Target:
        name, value = _UNNAMED, node
        if isinstance(node, exp.Alias):
            name, value = folded(node.args["alias"]), node.this
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
            name = folded(node.this)
        expression = binder.expression(value)
        if expression.type.oid == UNKNOWN:
            expression = coerced(self.signatures, expression, TEXT)
        return Target(name, expression)

    def _order(
        self, binder: ExpressionBinder, node: exp.Expr, targets: tuple[Target, ...]
    ) -> tuple[SortKey, ...]:
        clause = node.args.get("order")
        if clause is None:
            return ()
        return tuple(sort_key(binder, key, _by_output(key.this, targets)) for key in clause.expressions)

    def _group(
        self, binder: ExpressionBinder, node: exp.Select, targets: tuple[Target, ...]
    ) -> tuple[Expression, ...]:
        clause = node.args.get("group")
        if clause is None:
            return ()
        for part in ("rollup", "cube", "grouping_sets", "totals"):
            if clause.args.get(part):
                raise refused(part.upper().replace("_", " "))
        if clause.args.get("all"):
            raise refused("GROUP BY ALL", "Name the columns.")
        return tuple(_by_position(item, targets) or binder.expression(item) for item in clause.expressions)

    def _distinct_on(
        self, binder: ExpressionBinder, clause: exp.Expr | None, targets: tuple[Target, ...]
    ) -> tuple[Expression, ...]:
        on = None if clause is None else clause.args.get("on")
        if on is None:
            return ()
        nodes = on.expressions if isinstance(on, exp.Tuple) else [on]
        return tuple(_by_output(item, targets) or binder.expression(item) for item in nodes)

    def _query(
        self,
        binder: ExpressionBinder,
        node: exp.Expr,
        common_tables: tuple[CommonTable, ...],
        body: Body,
        order: tuple[SortKey, ...],
        columns: tuple[OutputColumn, ...],
    ) -> Query:
        limit, offset = node.args.get("limit"), node.args.get("offset")
        if limit is not None and not isinstance(limit, exp.Limit):
            raise refused_node(limit)
        return Query(
            common_tables,
            body,
            order,
            self._count(binder, limit),
            self._count(binder, offset),
            columns,
        )

    def _count(self, binder: ExpressionBinder, clause: exp.Expr | None) -> Expression | None:
        if clause is None:
            return None
        return coerced(self.signatures, binder.expression(clause.expression), INT8)

    def _values(self, node: exp.Values, common_tables: tuple[CommonTable, ...], scope: Scope) -> Query:
        binder = ExpressionBinder(self.signatures, scope, self.query)
        rows = [
            tuple(binder.expression(value) for value in bare(row).expressions or [bare(row)])
            for row in node.expressions
        ]
        columns = [as_common_type(self.signatures, column, "VALUES") for column in zip(*rows, strict=True)]
        outputs = tuple(
            OutputColumn(f"column{number}", type_) for number, (_, type_) in enumerate(columns, 1)
        )
        body = Values(tuple(zip(*(values for values, _ in columns), strict=True)), outputs)
        return self._query(binder, node, common_tables, body, (), outputs)

    def _set_operation(
        self, node: exp.SetOperation, common_tables: tuple[CommonTable, ...], scope: Scope
    ) -> Query:
        arms = [self.query(arm, scope) for arm in (node.this, node.expression)]
        types = self._arm_types(arms[0], arms[1])
        left, right = (
            self._as_types(tree, arm, types, scope)
            for tree, arm in zip((node.this, node.expression), arms, strict=True)
        )
        columns = tuple(
            OutputColumn(column.name, type_) for column, type_ in zip(left.columns, types, strict=True)
        )
        if node.args.get("by_name") or node.args.get("side"):
            raise refused_node(node)
        body = SetOperation(_SET_KINDS[type(node)], not node.args.get("distinct"), left, right, columns)
        binder = ExpressionBinder(self.signatures, scope, self.query)
        clause = node.args.get("order")
        order = tuple(
            sort_key(binder, key, _output(key.this, columns))
            for key in (() if clause is None else clause.expressions)
        )
        return self._query(binder, node, common_tables, body, order, columns)

    def _arm_types(self, left: Query, right: Query) -> tuple[SqlType, ...]:
        pairs = zip(left.columns, right.columns, strict=True)
        return tuple(
            as_common_type(
                self.signatures,
                tuple(Column(0, 0, number, column.name, column.type) for column in pair),
                "a set operation",
            )[1]
            for number, pair in enumerate(pairs)
        )

    def _as_types(self, node: exp.Expr, arm: Query, types: tuple[SqlType, ...], scope: Scope) -> Query:
        """The arm, or a SELECT from it that casts its columns: it is bound again, one query further in."""
        if all(column.type.oid == type_.oid for column, type_ in zip(arm.columns, types, strict=True)):
            return arm
        inner = self.query(node, Scope(outer=scope))
        targets = tuple(
            Target(
                column.name,
                coerced(self.signatures, Column(0, 0, number, column.name, column.type), type_.oid),
            )
            for number, (column, type_) in enumerate(zip(inner.columns, types, strict=True))
        )
        body = Select(
            sources=(Derived(0, inner, False, "", inner.columns),),
            condition=None,
            grouped=False,
            group=(),
            having=None,
            targets=targets,
            distinct=False,
            distinct_on=(),
        )
        columns = tuple(OutputColumn(target.name, target.expression.type) for target in targets)
        return Query((), body, (), None, None, columns)


def _optional(binder: ExpressionBinder, clause: exp.Expr | None) -> Expression | None:
    return None if clause is None else binder.expression(clause.this)


def _has_parts(node: exp.Subquery) -> bool:
    return any(node.args.get(part) for part in ("with_", "order", "limit", "offset", "joins"))


def _by_position(node: exp.Expr, targets: tuple[Target, ...]) -> Expression | None:
    """The target that a bare number counts to."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return targets[int(node.this) - 1].expression
    return None


def _by_output(node: exp.Expr, targets: tuple[Target, ...]) -> Expression | None:
    """The target that a bare number or name means: in ORDER BY an output's name wins over a column's."""
    if (
        isinstance(node, exp.Column)
        and node.args.get("table") is None
        and isinstance(node.this, exp.Identifier)
    ):
        named = [target.expression for target in targets if target.name == folded(node.this)]
        return named[0] if named else None
    return _by_position(node, targets)


def _output(node: exp.Expr, columns: tuple[OutputColumn, ...]) -> Expression:
    """The set operation's column that a bare number or name means."""
    if isinstance(node, exp.Literal) and not node.is_string:
        number = int(node.this) - 1
        return Output(number, columns[number].type)
    for number, column in enumerate(columns):
        if isinstance(node, exp.Column) and folded(node.this) == column.name:
            return Output(number, column.type)
    raise refused(
        "ORDER BY an expression over a set operation", "Order by an output column, by its name or number."
    )
