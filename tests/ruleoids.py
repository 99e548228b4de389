"""The operators and functions of a query: in PostgreSQL's own rule for a view, and in a bound query."""

from __future__ import annotations

import re

from dialect.bound import Query
from dialect.bound_expression import Aggregate, Cast, Function, Operator
from dialect.bound_walk import inside

_ONE = re.compile(
    r"\{(?:OPEXPR|DISTINCTEXPR|NULLIFEXPR|SCALARARRAYOPEXPR) :opno (\d+)|:(?:funcid|aggfnoid|winfnoid) (\d+)"
)
_SEVERAL = re.compile(r":opnos \(o ([\d ]+)\)")
_BOUND_AS_NEGATION = {642: 641, 1229: 1228}
"""`!~` and `!~*` on text, which are bound as NOT of `~` and `~*`; the same for other left-hand types."""
_BOUND_AS_NEGATION |= {640: 639, 1235: 1234, 1056: 1055, 1227: 1226}


def of_rule(action: str) -> set[int]:
    """Oids in a view's `ev_action`."""
    found = {int(operator or function) for operator, function in _ONE.findall(action)}
    found |= {int(oid) for oids in _SEVERAL.findall(action) for oid in oids.split()}
    return {_BOUND_AS_NEGATION.get(oid, oid) for oid in found}


def of_query(query: Query) -> set[int]:
    """Oids in a bound query, those of casts apart."""
    return {node.oid for node, _ in inside(query) if isinstance(node, Operator | Function | Aggregate)}


def of_casts(query: Query) -> set[int]:
    """Oids of the functions that casts in a bound query call."""
    return {node.function for node, _ in inside(query) if isinstance(node, Cast) and node.function}
