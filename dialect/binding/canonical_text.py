"""Canonical text to sqlglot's tree, which PostgreSQL's own parser must agree with."""

from __future__ import annotations

import json
import logging
from typing import Final

import sqlglot
from pglast.parser import ParseError as PostgresParseError
from pglast.parser import parse_sql_json
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from catalog.errors import FeatureNotSupported
from dialect.binding.constructs import Tree, constructs, where_they_part
from dialect.binding.sqlglot_postgres import Canonical
from dialect.binding.unbindable import refused

log = logging.getLogger(__name__)

_OPERATORS: Final = (exp.Binary, exp.Unary, exp.Cast, exp.AtTimeZone, exp.Between, exp.In)
_BRACKETS: Final = (exp.Dot, exp.Paren, exp.Kwarg)
_UNREADABLE: Final = "cannot maintain a query that is written in this way"
_HINT: Final = "Write it in a simpler form, or leave out parts of it to find the one that is not read."
_CONTEXT: Final = 40
"""Characters shown on either side of a place in a text."""
_PLACES: Final = frozenset(("location", "stmt_location", "stmt_len", "list_start", "list_end"))
_FRAME_SAYS_BETWEEN: Final = 0x10
_SPELLINGS: Final = frozenset(("funcformat", "row_format"))


def read_query(text: str) -> exp.Expr:
    """The tree of a canonical text; refused where sqlglot reads another query than PostgreSQL does."""
    original = _postgres_tree(text)
    unread = next(constructs(original), None)
    if unread is not None:
        raise refused(unread)
    try:
        tree = sqlglot.parse_one(text, read=Canonical)
        written = bracketed(tree).sql(dialect=Canonical, normalize_functions=False, identify=True)
        reread = _postgres_tree(written)
    except ParseError as error:
        [mistake, *_] = error.errors
        before, after = (str(mistake[part]) for part in ("start_context", "end_context"))
        piece = before[-_CONTEXT:] + str(mistake["highlight"]) + after[:_CONTEXT]
        raise FeatureNotSupported(_UNREADABLE, detail=f"It stands at: … {piece} …", hint=_HINT) from error
    except (TokenError, FeatureNotSupported) as error:
        raise FeatureNotSupported(_UNREADABLE, hint=_HINT) from error
    if not isinstance(tree, exp.Query | exp.Values):
        raise FeatureNotSupported("only a SELECT can be maintained")
    if original != reread:
        log.info("a query is read otherwise: %s", first_difference(original, reread))
        differing = where_they_part(original, reread)
        raise FeatureNotSupported(_UNREADABLE, hint=_HINT) if differing is None else refused(differing)
    return tree


def bracketed(tree: exp.Expr) -> exp.Expr:
    """A copy with brackets around every operator, so that its text shows the structure of the tree."""
    copy = tree.copy()
    for node in list(copy.walk()):
        parent = node.parent
        if isinstance(node, _OPERATORS) and not isinstance(node, _BRACKETS):
            chained = isinstance(node, exp.Connector) and type(node) is type(parent)
            if isinstance(parent, _OPERATORS) and not isinstance(parent, _BRACKETS) and not chained:
                _wrap(node, exp.Paren())
        elif isinstance(node, exp.SetOperation) and isinstance(parent, exp.SetOperation):
            _wrap(node, exp.Subquery())
    return copy


def _wrap(node: exp.Expr, brackets: exp.Expr) -> None:
    node.replace(brackets)
    brackets.set("this", node)


def _postgres_tree(text: str) -> Tree:
    try:
        statements = json.loads(parse_sql_json(text))["stmts"]
    except PostgresParseError as error:
        _message, place = error.args
        start = max(len(text) if place is None else place, _CONTEXT) - _CONTEXT
        piece = text[start : start + 2 * _CONTEXT]
        raise FeatureNotSupported(_UNREADABLE, detail=f"It stands at: … {piece} …", hint=_HINT) from error
    return plain(statements)


def plain(tree: Tree) -> Tree:
    """The tree without places in the text and with one spelling where PostgreSQL has several."""
    if isinstance(tree, list):
        return [plain(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    items = {key: plain(value) for key, value in tree.items() if key not in _PLACES and key not in _SPELLINGS}
    if len(items) == 1:
        ((kind, node),) = items.items()
        spelling = _ONE_SPELLING.get(kind)
        if spelling is not None:
            return spelling(node)
    if "names" in items and "typemod" in items:
        items["names"] = _unqualified(items["names"])
    if "frameOptions" in items:
        items["frameOptions"] &= ~_FRAME_SAYS_BETWEEN
    return items


def first_difference(original: Tree, reread: Tree, path: str = "query") -> str:
    """Where two trees part, and what stands there."""
    match original, reread:
        case dict(), dict():
            for key in sorted(original.keys() | reread.keys()):
                if original.get(key) != reread.get(key):
                    return first_difference(original.get(key), reread.get(key), f"{path}.{key}")
        case list(), list() if len(original) == len(reread):
            for one, other in zip(original, reread, strict=True):
                if one != other:
                    return first_difference(one, other, path)
    return f"{path}: PostgreSQL reads {_short(original)}, sqlglot {_short(reread)}"


def _short(tree: Tree) -> str:
    text = json.dumps(tree, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def _operator(node: Tree) -> Tree:
    """`a LIKE b` is `a ~~ b`, and `a !~ b` is `NOT (a ~ b)`."""
    if node["kind"] in ("AEXPR_LIKE", "AEXPR_ILIKE"):
        node["kind"] = "AEXPR_OP"
    symbol = node["name"][-1]["String"]["sval"]
    if symbol in ("!~", "!~*") and node["kind"] == "AEXPR_OP":
        node["name"] = [{"String": {"sval": symbol[1:]}}]
        return _negation({"A_Expr": node})
    return {"A_Expr": node}


def _negation(tree: Tree) -> Tree:
    return {"BoolExpr": {"boolop": "NOT_EXPR", "args": [tree]}}


def _boolean_test(node: Tree) -> Tree:
    """`a IS NOT TRUE` is `NOT (a IS TRUE)`, and `a IS UNKNOWN` is `a IS NULL`."""
    match node["booltesttype"]:
        case "IS_UNKNOWN" | "IS_NOT_UNKNOWN" as kind:
            test = "IS_NULL" if kind == "IS_UNKNOWN" else "IS_NOT_NULL"
            return {"NullTest": {"arg": node["arg"], "nulltesttype": test}}
        case "IS_NOT_TRUE" | "IS_NOT_FALSE" as kind:
            positive = kind.replace("NOT_", "")
            return _negation({"BooleanTest": {"arg": node["arg"], "booltesttype": positive}})
    return {"BooleanTest": node}


def _connective(node: Tree) -> Tree:
    """`(a AND b) AND c` is `a AND b AND c`."""
    kind = node["boolop"]
    if kind == "NOT_EXPR":
        return {"BoolExpr": node}
    arguments: list[Tree] = []
    for argument in node["args"]:
        inner = argument.get("BoolExpr")
        arguments.extend(inner["args"] if inner is not None and inner["boolop"] == kind else [argument])
    return {"BoolExpr": {"boolop": kind, "args": arguments}}


def _call(node: Tree) -> Tree:
    """`substring(a, 1, 5)` is `SUBSTRING(a FROM 1 FOR 5)`."""
    return {"FuncCall": {**node, "funcname": _unqualified(node["funcname"])}}


def _unqualified(names: Tree) -> Tree:
    """The names without pg_catalog, which a bare name means under an empty search_path."""
    if len(names) == 2 and names[0] == {"String": {"sval": "pg_catalog"}}:
        return names[1:]
    return names


_ONE_SPELLING: Final = {
    "A_Expr": _operator,
    "BooleanTest": _boolean_test,
    "BoolExpr": _connective,
    "FuncCall": _call,
}
