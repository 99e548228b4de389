"""Where in the client's SELECT each function, table, system column and clause stands, as the parser read it.

PostgreSQL decides from its own analysis what cannot be maintained; this map only says where to point.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final, TypeAlias

from pglast import ast
from pglast.enums import GroupingSetKind, LimitOption, SubLinkType
from pglast.parser import ParseError, parse_sql, scan
from pglast.visitors import Visitor

from catalog.postgres.type_names import SQL_NAMES

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


_GROUPINGS: Final = {
    GroupingSetKind.GROUPING_SET_ROLLUP: "ROLLUP",
    GroupingSetKind.GROUPING_SET_CUBE: "CUBE",
    GroupingSetKind.GROUPING_SET_SETS: "GROUPING SETS",
}
_INDIRECTIONS: Final = {
    ast.String: "a field of a row, or a function outside pg_catalog",
    ast.A_Indices: "an array slice or a subscript of another type than an array",
    ast.A_Star: "a whole row as a value",
}
_CALLED: Final = re.compile(r"(?:function|aggregate|operator) ([^\s(,]+)")


def place_of(piece: str, places: Places) -> int | None:
    """Where a piece stands that the binder or the planner has refused by this name, if the map says so."""
    construct = places.get("construct", {}).get(piece)
    if piece.startswith("SIMILAR TO"):
        piece = "the operator ~"
    called = _CALLED.search(piece)
    if construct is not None or called is None:
        return construct
    return places.get("function", {}).get(called[1])


def places_in(query: str, offset: int) -> Places:
    """Places of what may be refused in a SELECT that begins at `offset`; none where it does not parse."""
    try:
        tree = parse_sql(query)
    except ParseError:
        return {}
    finder = _Finder(query, offset)
    finder(tree)
    finder.note_only_cast()
    return {kind: dict(names) for kind, names in finder.places.items()}


class _Finder(Visitor):
    """Notes the first place of each name."""

    def __init__(self, query: str, offset: int) -> None:
        super().__init__()
        self.places: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._query = query
        self._casts: list[int | None] = []
        self._offset = offset

    def _note(self, kind: str, name: str, location: int | None) -> None:
        if location is not None and location >= 0:
            self.places[kind].setdefault(name, self._offset + location)

    def visit_FuncCall(self, _ancestors: object, node: ast.FuncCall) -> None:
        name = last_name(node.funcname)
        self._note("function", name, node.location)
        if node.agg_within_group:
            self._note("construct", "an aggregate WITHIN GROUP", node.location)
        if node.over is not None:
            self._note("construct", "a window function", node.location)
        if node.func_variadic:
            self._note("construct", "an argument marked VARIADIC", node.location)
        if name == "overlaps":
            self._note("construct", "OVERLAPS", node.location)

    def visit_A_Expr(self, _ancestors: object, node: ast.A_Expr) -> None:
        self._note("function", last_name(node.name), node.location)

    def visit_GroupingSet(self, _ancestors: object, node: ast.GroupingSet) -> None:
        if node.kind in _GROUPINGS:
            self._note("construct", _GROUPINGS[node.kind], node.location)

    def visit_GroupingFunc(self, _ancestors: object, node: ast.GroupingFunc) -> None:
        self._note("construct", "GROUPING", node.location)

    def visit_RangeFunction(self, _ancestors: object, node: ast.RangeFunction) -> None:
        first = node.functions[0][0] if node.functions else None
        self._note("construct", "a function in FROM", getattr(first, "location", None))

    def visit_NamedArgExpr(self, _ancestors: object, node: ast.NamedArgExpr) -> None:
        self._note("construct", "an argument given by name", node.location)

    def visit_A_Const(self, _ancestors: object, node: ast.A_Const) -> None:
        if isinstance(node.val, ast.BitString):
            self._note("construct", "a bit string", self._keyword("BCONST"))

    def visit_A_Indirection(self, _ancestors: object, node: ast.A_Indirection) -> None:
        for part in node.indirection or ():
            if isinstance(part, ast.A_Indices) and not part.is_slice:
                self._note("construct", "an element of an array by its index", _start(node.arg))
            construct = _INDIRECTIONS.get(type(part))
            if construct is not None:
                self._note("construct", construct, _start(node.arg))

    def visit_SubLink(self, _ancestors: object, node: ast.SubLink) -> None:
        if node.subLinkType == SubLinkType.ARRAY_SUBLINK:
            self._note("construct", "ARRAY of a subquery", node.location)

    def visit_SQLValueFunction(self, _ancestors: object, node: ast.SQLValueFunction) -> None:
        if node.op is not None:
            self._note("value", _VALUE_FUNCTIONS[int(node.op)], node.location)

    def visit_RangeVar(self, _ancestors: object, node: ast.RangeVar) -> None:
        self._note("table", node.relname or "", node.location)
        if not node.inh:
            self._note("construct", "a table with ONLY", node.location)

    def visit_RangeTableSample(self, _ancestors: object, node: ast.RangeTableSample) -> None:
        self._note("clause", "sample", node.location)

    def visit_WithClause(self, _ancestors: object, node: ast.WithClause) -> None:
        if node.recursive:
            self._note("clause", "recursion", node.location)

    def visit_ColumnRef(self, _ancestors: object, node: ast.ColumnRef) -> None:
        if (name := last_name(node.fields)) in _SYSTEM_COLUMNS:
            self._note("column", name, node.location)

    def visit_TypeCast(self, _ancestors: object, node: ast.TypeCast) -> None:
        if node.typeName is None:
            return
        name, location = last_name(node.typeName.names), node.typeName.location
        self._note("type", name, location)
        self._note("function", name, location)  # The function behind a cast has the type's name.
        array = "[]" if node.typeName.arrayBounds else ""
        shown = f"{SQL_NAMES.get(name, name)}{array}"
        self._note("cast", f"a conversion between text and {shown}", location)
        self._casts.append(location)

    def note_only_cast(self) -> None:
        """Note the only cast of a query, which is meant whatever its types are."""
        if len(self._casts) == 1:
            self._note("cast", "", self._casts[0])

    def visit_SelectStmt(self, _ancestors: object, node: ast.SelectStmt) -> None:
        if (node.limitCount or node.limitOffset) and not node.sortClause:
            self._note("clause", "limit", self._keyword("LIMIT", "OFFSET", "FETCH"))
        if any(node.distinctClause or ()):
            self._note("construct", "DISTINCT ON", self._keyword("DISTINCT"))
        if node.limitOption == LimitOption.LIMIT_OPTION_WITH_TIES:
            self._note("construct", "FETCH FIRST ... WITH TIES", self._keyword("FETCH"))
        if node.lockingClause:
            self._note("clause", "row_lock", self._keyword("FOR"))

    def _keyword(self, *kinds: str) -> int | None:
        """The first of these keywords: the parser keeps no place for the clauses they begin."""
        places = (token.start for token in scan(self._query) if token.name in kinds)
        return next(places, None)


def _start(node: object) -> int | None:
    """Where an expression begins, as far as the parser says."""
    return getattr(node, "location", None)


def last_name(parts: tuple[object, ...] | None) -> str:
    """The last part of a qualified name; empty for a star."""
    last = parts[-1] if parts else None
    return last.sval or "" if isinstance(last, ast.String) else ""
