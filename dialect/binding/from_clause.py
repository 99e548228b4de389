"""FROM: tables, subqueries and joins, and the names they bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from catalog.errors import Error
from catalog.postgres.schema import Table, TableName, Tables
from catalog.postgres.signatures import Signatures
from catalog.postgres.types import BOOLEAN
from dialect.binding.binder import folded
from dialect.binding.casts import as_common_type, cast
from dialect.binding.expression import ExpressionBinder
from dialect.binding.generated_columns import reads_generated, with_generated
from dialect.binding.operators import apply_operator
from dialect.binding.scope import Scope, Source
from dialect.binding.unbindable import function_in_from, refused, refused_node
from dialect.binding.views import BoundViews
from dialect.bound.expression import Expression
from dialect.bound.query import (
    CommonTableScan,
    Derived,
    FromItem,
    Join,
    JoinKind,
    OutputColumn,
    Query,
    Scan,
)
from dialect.expressions.scalar import And, Coalesce

_KINDS: Final = {"LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}
NOTHING_REFUSED: Final[Mapping[int, Error]] = MappingProxyType({})
_NAMES: Final = "names that occur"
_TABLE_EXTRAS: Final = ("sample", "only", "ordinality", "pivots", "version", "hints", "partition", "catalog")


@dataclass
class FromBinder:
    """Binds FROM items one after the other; `scope` is what the query's expressions see in the end."""

    signatures: Signatures
    tables: Tables
    views: BoundViews
    scope: Scope
    bind_query: Callable[[exp.Expr, Scope], Query]

    def items(self, select: exp.Select) -> tuple[FromItem, ...]:
        """All FROM items of a SELECT; they are crossed."""
        clause = select.args.get("from_")
        if clause is None:
            return ()
        nodes = [clause.this]
        for join in select.args.get("joins") or ():
            if any(value for part, value in join.args.items() if part != "this"):
                raise refused("a join outside brackets", "Put brackets around the join.")
            nodes.append(join.this)
        return tuple(self._item(node) for node in nodes)

    def _item(self, node: exp.Expr) -> FromItem:
        match node:
            case exp.Subquery() if not isinstance(node.this, exp.Query) or isinstance(
                node.this, exp.Subquery
            ):
                return self._joined(node)
            case exp.Subquery():
                return self._derived(node.this, node, lateral=False)
            case exp.Values():
                return self._derived(node, node, lateral=False)
            case exp.Lateral() if isinstance(node.this, exp.Subquery) and not node.args.get("ordinality"):
                return self._derived(node.this.this, node, lateral=True)
            case exp.Table() if isinstance(node.this, exp.Identifier):
                return self._table(node)
            case exp.Table() | exp.Lateral():
                raise function_in_from()
        raise refused_node(node)

    def _joined(self, node: exp.Subquery) -> FromItem:
        """`(a JOIN b ON ...)`: the first item carries the joins."""
        inner = node.this
        if node.args.get("alias") is not None:
            raise refused("a join with an alias", "Give the aliases to the joined tables.")
        left_first = len(self.scope.sources)
        left = self._item(inner)
        for join in inner.args.get("joins") or ():
            left = self._join(left, left_first, join)
        return left

    def _join(self, left: FromItem, left_first: int, node: exp.Join) -> FromItem:
        kind, method = str(node.args.get("kind") or ""), node.args.get("method")
        side = str(node.args.get("side") or "")
        if method or kind not in ("", "INNER", "OUTER", "CROSS"):
            raise refused(f"a {method or kind} JOIN", "Write the condition of the join after ON.")
        right_first = len(self.scope.sources)
        right = self._item(node.this)
        join_kind = _KINDS.get(side, JoinKind.INNER)
        condition: Expression | None = None
        if node.args.get("on") is not None:
            condition = self._binder().expression(node.args["on"])
        elif node.args.get("using"):
            sides = (self.scope.sources[left_first:right_first], self.scope.sources[right_first:])
            condition = self._using(join_kind, tuple(folded(name) for name in node.args["using"]), *sides)
        return Join(join_kind, left, right, condition)

    def _using(
        self, kind: JoinKind, names: Sequence[str], left: tuple[Source, ...], right: tuple[Source, ...]
    ) -> Expression:
        """Equality of the columns of these names, which become one name each."""
        equalities: list[Expression] = []
        merged = dict(self.scope.merged)
        binder = self._binder()
        for name in names:
            one = merged.get(name) or replace(self.scope, sources=left, merged={}).column(name, None, None)
            other = replace(self.scope, sources=right, merged={}).column(name, None, None)
            equalities.append(apply_operator(binder, "=", (one, other)))
            merged[name] = self._merged(kind, one, other)
        self.scope = replace(self.scope, merged=merged)
        return equalities[0] if len(equalities) == 1 else And(tuple(equalities), BOOLEAN)

    def _merged(self, kind: JoinKind, one: Expression, other: Expression) -> Expression:
        """What an unqualified USING column means: of the two's common type, and never NULL without need."""
        values, type_ = as_common_type(self.signatures, (one, other), "JOIN USING")
        left, right = (cast(self.signatures, value, type_) for value in values)
        match kind:
            case JoinKind.FULL:
                return Coalesce((left, right), type_)
            case JoinKind.RIGHT:
                return right
            case JoinKind.INNER if left is not one and right is other:
                return right
        return left

    def _table(self, node: exp.Table) -> FromItem:
        for part in _TABLE_EXTRAS:
            if node.args.get(part):
                raise (refused_node(node.args[part]) if part == "sample" else refused(*_extra(part)))
        name, schema = folded(node.this), node.args.get("db")
        alias, names = _alias(node, name)
        if schema is None:
            named = self.scope.common_table(name)
            if named is None:
                raise refused(f"the system catalog {name}", "Query it when it is needed.")
            level, common = named
            number = self._add(alias, None, columns := _renamed(common.columns, names))
            return CommonTableScan(number, level, common.number, alias, columns)
        relation = TableName(folded(schema), name)
        visible_schema = relation.schema if node.args.get("alias") is None else None
        view = self.views.query(relation)
        if view is not None:
            number = self._add(alias, visible_schema, columns := _renamed(view.columns, names))
            return Derived(number, view, False, alias, columns)
        table = self.tables.get(relation)
        if table is None:
            raise refused(f'the relation "{relation.schema}.{name}", which is not among the tables')
        columns = _renamed(tuple(OutputColumn(column.name, column.type) for column in table.columns), names)
        if reads_generated(table, node.root(), names):
            computed, refused_columns = with_generated(self.signatures, table, self.bind_query)
            number = self._add(alias, visible_schema, columns, refused_columns)
            return Derived(number, computed, False, alias, columns)
        places = tuple(range(len(columns))) if names else _named_places(table, node.root())
        columns = tuple(columns[place] for place in places)
        number = self._add(alias, visible_schema, columns)
        return Scan(number, table.name, alias, columns, places)

    def _derived(self, query: exp.Expr, node: exp.Expr, *, lateral: bool) -> FromItem:
        alias, names = _alias(node, "")
        around = self.scope if lateral else replace(self.scope, sources=(), merged={})
        bound = self.bind_query(query, around)
        columns = _renamed(bound.columns, names)
        return Derived(self._add(alias, None, columns), bound, lateral, alias, columns)

    def _add(
        self,
        alias: str,
        schema: str | None,
        columns: tuple[OutputColumn, ...],
        refused: Mapping[int, Error] = NOTHING_REFUSED,
    ) -> int:
        number = len(self.scope.sources)
        source = Source(number, alias, schema, columns, refused)
        self.scope = replace(self.scope, sources=(*self.scope.sources, source))
        return number

    def _binder(self) -> ExpressionBinder:
        return ExpressionBinder(self.signatures, self.scope, self.bind_query)


def _named_places(table: Table, tree: exp.Expr) -> tuple[int, ...]:
    """The places of the columns whose names occur in a query, which does not depend on the others."""
    if _NAMES not in tree.meta:
        tree.meta[_NAMES] = frozenset(folded(identifier) for identifier in tree.find_all(exp.Identifier))
    return tuple(place for place, column in enumerate(table.columns) if column.name in tree.meta[_NAMES])


def _extra(part: str) -> tuple[str, str]:
    """What the table has besides its name, and the way out."""
    if part == "only":
        return "a table with ONLY", "Leave ONLY out, or name the partition that is meant."
    return f"a table with {part.upper()}", "Name the table alone."


def _alias(node: exp.Expr, name: str) -> tuple[str, tuple[str, ...]]:
    alias = node.args.get("alias")
    if alias is None:
        return name, ()
    return folded(alias.this), tuple(folded(name) for name in alias.args.get("columns") or ())


def _renamed(columns: tuple[OutputColumn, ...], names: tuple[str, ...]) -> tuple[OutputColumn, ...]:
    """The columns under an alias's names; further ones keep theirs."""
    return tuple(
        replace(column, name=names[number]) if number < len(names) else column
        for number, column in enumerate(columns)
    )
