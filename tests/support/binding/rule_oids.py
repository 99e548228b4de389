"""Operators, functions and columns: those in PostgreSQL's own rule for a view, and those in a bound query."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialect.bound.expression import Aggregate, Column, Function, Operator
from dialect.bound.query import Derived, FromItem, Join, Query, Scan, Select
from dialect.bound.walk import children, inside
from dialect.expressions.scalar import Cast

_ONE = re.compile(
    r"\{(?:OPEXPR|DISTINCTEXPR|NULLIFEXPR|SCALARARRAYOPEXPR) :opno (\d+)|:(?:funcid|aggfnoid|winfnoid) (\d+)"
)
_SEVERAL = re.compile(r":opnos \(o ([\d ]+)\)")
_BOUND_AS_NEGATION = {642: 641, 1229: 1228}
"""`!~` and `!~*` on text, which are bound as NOT of `~` and `~*`; the same for other left-hand types."""
_BOUND_AS_NEGATION |= {640: 639, 1235: 1234, 1056: 1055, 1227: 1226}


_GROUPED = ":rtekind 9 "
_COLUMN = re.compile(r"\{VAR :varno \d+ :varattno (\d+) .*?:varlevelsup (\d+)")


def differing(action: str, query: Query) -> str:
    """What a view's rule (its `ev_action`) and the bound query do not have in common; empty if they agree.

    Casts of set operations are in the bound query alone, unread columns of joins in the rule alone.
    """
    theirs, ours, casts = _of_rule(action), _of_query(query), _of_casts(query)
    columns = set() if _renumbered(action, query) else _columns_of_query(query) - _columns_of_rule(action)
    parts = {
        "only in the rule": sorted(theirs - ours - casts),
        "only bound": sorted(ours - theirs),
        "columns": [f"number {number}, level {level}" for number, level in sorted(columns)],
    }
    return ", ".join(f"{name}: {part}" for name, part in parts.items() if part)


def _renumbered(action: str, query: Query) -> bool:
    """Whether columns have other places in the rule: 18's grouped ones, and those of arms that are cast."""
    arms_cast = any(isinstance(node, Derived) and not node.alias for node, _ in inside(query))
    return _GROUPED in action or arms_cast


def _of_rule(action: str) -> set[int]:
    found = {int(operator or function) for operator, function in _ONE.findall(action)}
    found |= {int(oid) for oids in _SEVERAL.findall(action) for oid in oids.split()}
    return {_BOUND_AS_NEGATION.get(oid, oid) for oid in found}


def _of_query(query: Query) -> set[int]:
    return {node.oid for node, _ in inside(query) if isinstance(node, Operator | Function | Aggregate)}


def _of_casts(query: Query) -> set[int]:
    return {node.function for node, _ in inside(query) if isinstance(node, Cast) and node.function}


def _columns_of_rule(action: str) -> set[tuple[int, int]]:
    return {(int(number), int(level)) for number, level in _COLUMN.findall(action)}


def _columns_of_query(query: Query) -> set[tuple[int, int]]:
    return set(_columns(query, ()))


def _columns(node: object, queries: tuple[Query, ...]) -> Iterator[tuple[int, int]]:
    """The numbers that columns have in their tables, of which a scan has those that its query names."""
    if isinstance(node, Query):
        queries = (*queries, node)
    if isinstance(node, Column):
        yield _number(node, queries[-1 - node.level]), node.level
    for child in children(node):
        yield from _columns(child, queries)


def _number(column: Column, query: Query) -> int:
    sources = query.body.sources if isinstance(query.body, Select) else ()
    scans = {scan.source: scan for source in sources for scan in _scans(source)}
    scan = scans.get(column.source)
    return (column.column if scan is None else scan.places[column.column]) + 1


def _scans(item: FromItem) -> Iterator[Scan]:
    match item:
        case Scan():
            yield item
        case Join(left=left, right=right):
            yield from _scans(left)
            yield from _scans(right)
        case _:
            return
