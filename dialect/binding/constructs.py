"""What stands at a place of PostgreSQL's parse tree, in the words of its documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

Tree: TypeAlias = Any
"""A piece of a parse tree as JSON: mappings, lists, numbers and strings."""

_XML: Final = {
    "IS_XMLCONCAT": "XMLCONCAT",
    "IS_XMLELEMENT": "XMLELEMENT",
    "IS_XMLFOREST": "XMLFOREST",
    "IS_XMLPARSE": "XMLPARSE",
    "IS_XMLPI": "XMLPI",
    "IS_XMLROOT": "XMLROOT",
    "IS_DOCUMENT": "IS DOCUMENT",
}
_JSON: Final = {
    "JSON_EXISTS_OP": "JSON_EXISTS",
    "JSON_QUERY_OP": "JSON_QUERY",
    "JSON_VALUE_OP": "JSON_VALUE",
    "JSON_TABLE_OP": "JSON_TABLE",
}


def constructs(tree: Tree) -> Iterator[str]:
    """What of a query this program cannot read, from the outside in."""
    if isinstance(tree, list):
        for child in tree:
            yield from constructs(child)
    elif isinstance(tree, dict):
        for kind, node in tree.items():
            name = _UNREAD.get(kind)
            if name is not None and (construct := name(node)) is not None:
                yield construct
            yield from constructs(node)


def where_they_part(original: Tree, reread: Tree, around: str | None = None) -> str | None:
    """The innermost thing with a name that two trees differ in."""
    match original, reread:
        case dict(), dict():
            for kind in original:
                if original[kind] != reread.get(kind):
                    name = _NAMED.get(kind)
                    around = (name(original[kind]) if name is not None else None) or around
                    return where_they_part(original[kind], reread.get(kind), around)
        case list(), list() if len(original) == len(reread):
            for one, other in zip(original, reread, strict=True):
                if one != other:
                    return where_they_part(one, other, around)
    if isinstance(original, dict):
        for kind, node in original.items():
            name = _NAMED.get(kind)
            if name is not None:
                return name(node) or around
    return around


def _last(names: Tree) -> str:
    return str(names[-1]["String"]["sval"])


def _call(node: Tree) -> str | None:
    match _last(node["funcname"]):
        case "is_normalized":
            return "IS NORMALIZED"
        case "xmlexists":
            return "XMLEXISTS"
    return None


def _constant(node: Tree) -> str | None:
    return "a bit string" if "bsval" in node else None


def _text(node: Tree) -> str | None:
    return f"the constant '{node['sval'].get('sval', '')}'" if "sval" in node else None


_UNREAD: Final[Mapping[str, Callable[[Tree], str | None]]] = {
    "XmlExpr": lambda node: _XML.get(node.get("op", ""), "an XML expression"),
    "XmlSerialize": lambda _node: "XMLSERIALIZE",
    "RangeTableFunc": lambda _node: "XMLTABLE",
    "JsonTable": lambda _node: "JSON_TABLE",
    "JsonFuncExpr": lambda node: _JSON.get(node.get("op", ""), "an SQL/JSON function"),
    "JsonObjectConstructor": lambda _node: "JSON_OBJECT",
    "JsonArrayConstructor": lambda _node: "JSON_ARRAY",
    "JsonArrayQueryConstructor": lambda _node: "JSON_ARRAY",
    "JsonObjectAgg": lambda _node: "JSON_OBJECTAGG",
    "JsonArrayAgg": lambda _node: "JSON_ARRAYAGG",
    "JsonIsPredicate": lambda _node: "IS JSON",
    "JsonParseExpr": lambda _node: "JSON",
    "JsonScalarExpr": lambda _node: "JSON_SCALAR",
    "JsonSerializeExpr": lambda _node: "JSON_SERIALIZE",
    "join_using_alias": lambda _node: "an alias of JOIN USING",
    "A_Const": _constant,
    "FuncCall": _call,
}
_NAMED: Final[Mapping[str, Callable[[Tree], str | None]]] = {
    **_UNREAD,
    "A_Const": lambda node: _constant(node) or _text(node),
    "A_Expr": lambda node: f"the operator {_last(node['name'])}" if node.get("kind") == "AEXPR_OP" else None,
    "FuncCall": lambda node: _call(node) or f"the function {_last(node['funcname'])}",
    "typeName": lambda node: f"the type {_last(node['names'])}",
}
