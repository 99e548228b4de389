"""Where in the client's SELECT each function, table, system column and clause stands, as the parser read it.

PostgreSQL decides from its own analysis what cannot be maintained; this map only says where to point.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, TypeAlias

from pglast import ast
from pglast.parser import ParseError, parse_sql, scan
from pglast.visitors import Visitor

Places: TypeAlias = dict[str, dict[str, int]]
"""Kind of piece → its name → position in the client's text (characters, from 0)."""

_SYSTEM_COLUMNS: Final = frozenset(("ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"))
_VALUE_FUNCTIONS: Final = (
    "current_date",
    "current_time",
    "current_time",
    "current_timestamp",
    "current_timestamp",
    "localtime",
    "localtime",
    "localtimestamp",
    "localtimestamp",
    "current_role",
    "current_user",
    "user",
    "session_user",
    "current_catalog",
    "current_schema",
)


def places_in(query: str, offset: int) -> Places:
    """Places of what may be refused in a SELECT that begins at `offset`; none where it does not parse."""
    try:
        tree = parse_sql(query)
    except ParseError:
        return {}
    finder = _Finder(query, offset)
    finder(tree)
    return {kind: dict(names) for kind, names in finder.places.items()}


class _Finder(Visitor):
    """Notes the first place of each name."""

    def __init__(self, query: str, offset: int) -> None:
        super().__init__()
        self.places: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._query = query
        self._offset = offset

    def _note(self, kind: str, name: str, location: int | None) -> None:
        if location is not None and location >= 0:
            self.places[kind].setdefault(name, self._offset + location)

    def visit_FuncCall(self, _ancestors: object, node: ast.FuncCall) -> None:
        self._note("function", last_name(node.funcname), node.location)

    def visit_SQLValueFunction(self, _ancestors: object, node: ast.SQLValueFunction) -> None:
        if node.op is not None:
            self._note("value", _VALUE_FUNCTIONS[int(node.op)], node.location)

    def visit_RangeVar(self, _ancestors: object, node: ast.RangeVar) -> None:
        self._note("table", node.relname or "", node.location)

    def visit_RangeTableSample(self, _ancestors: object, node: ast.RangeTableSample) -> None:
        self._note("clause", "sample", node.location)

    def visit_WithClause(self, _ancestors: object, node: ast.WithClause) -> None:
        if node.recursive:
            self._note("clause", "recursion", node.location)

    def visit_ColumnRef(self, _ancestors: object, node: ast.ColumnRef) -> None:
        if (name := last_name(node.fields)) in _SYSTEM_COLUMNS:
            self._note("column", name, node.location)

    def visit_TypeCast(self, _ancestors: object, node: ast.TypeCast) -> None:
        if node.typeName is not None:
            self._note("type", last_name(node.typeName.names), node.typeName.location)

    def visit_SelectStmt(self, _ancestors: object, node: ast.SelectStmt) -> None:
        if (node.limitCount or node.limitOffset) and not node.sortClause:
            self._note("clause", "limit", self._keyword("LIMIT", "OFFSET", "FETCH"))
        if node.lockingClause:
            self._note("clause", "row_lock", self._keyword("FOR"))

    def _keyword(self, *kinds: str) -> int | None:
        """The first of these keywords: the parser keeps no place for the clauses they begin."""
        found = (token.start for token in scan(self._query) if token.name in kinds)
        return next(found, None)


def last_name(parts: tuple[object, ...] | None) -> str:
    """The last part of a qualified name; empty for a star."""
    last = parts[-1] if parts else None
    return last.sval or "" if isinstance(last, ast.String) else ""
