"""Function calls: plain, aggregate and window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from catalog.errors import ELSEWHERE
from catalog.postgres.signatures import FunctionKind, FunctionSignature
from catalog.postgres.types import INT8, TEXT, SqlType
from dialect.binding.binder import Binder, Rule, folded
from dialect.binding.casts import coerced, computed_type
from dialect.binding.collation import collation_for, derive
from dialect.binding.resolve import Meaning, find_function
from dialect.binding.subqueries import array_of
from dialect.binding.unbindable import GROUPINGS, refused, refused_node
from dialect.binding.values import coalesce, greatest, least, null_if, row, sql_value
from dialect.bound.expression import Aggregate, Expression, Frame, FrameBound, Function, Row, SortKey, Window
from dialect.bound.walk import lowest_level
from dialect.expressions.scalar import Constant

_KEYWORDS: Final[Mapping[str, Callable[[Binder, tuple[Expression, ...]], Expression]]] = {
    "coalesce": coalesce,
    "greatest": greatest,
    "least": least,
    "nullif": null_if,
    "row": row,
}
_PRECISE: Final = frozenset(("current_time", "current_timestamp", "localtime", "localtimestamp"))
_REFUSED: Final = frozenset(
    ("grouping", "json_array", "json_object", "json_value", "json_query", "json_exists")
)
_PLAIN: Final[tuple[FunctionKind, ...]] = ("function", "aggregate", "ordered aggregate", "window")
COMPARING: Final = frozenset(
    ("min", "max", "position", "strpos", "replace", "split_part", "starts_with", "string_to_array")
)
"""What compares strings by a collation; the tests ask PostgreSQL for these names."""

CHANGING_CASE: Final = frozenset(("lower", "upper", "initcap"))
_WINDOWS: Final[tuple[FunctionKind, ...]] = ("aggregate", "window")


@dataclass(frozen=True, slots=True)
class _Call:
    """The parts of a call as written."""

    name: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool = False
    order: tuple[exp.Expr, ...] = ()
    condition: exp.Expr | None = None
    variadic: bool = False


def _read_call(node: exp.Expr, condition: exp.Expr | None = None) -> _Call:
    if not isinstance(node, exp.Anonymous):
        raise refused_node(node)
    arguments = list(node.expressions)
    order: tuple[exp.Expr, ...] = ()
    distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments[:1] = arguments[0].expressions
    if arguments and isinstance(arguments[-1], exp.Order):
        order = tuple(arguments[-1].expressions)
        arguments[-1] = arguments[-1].this
        if isinstance(arguments[-1], exp.Distinct):
            distinct, arguments[-1:] = True, arguments[-1].expressions
    star = len(arguments) == 1 and isinstance(arguments[0], exp.Star)
    variadic = bool(arguments) and isinstance(arguments[-1], exp.Variadic)
    if variadic:
        arguments[-1] = arguments[-1].this
    given = () if star else tuple(arguments)
    return _Call(_name(node), given, distinct, order, condition, variadic)


def _name(node: exp.Anonymous) -> str:
    return folded(node.this) if isinstance(node.this, exp.Identifier) else str(node.this).lower()


def sort_key(binder: Binder, node: exp.Expr, expression: Expression | None = None) -> SortKey:
    """One key of an ORDER BY; `expression` where it is already known what the key is."""
    return SortKey(
        binder.expression(node.this) if expression is None else expression,
        bool(node.args.get("desc")),
        bool(node.args.get("nulls_first")),
    )


def _call(binder: Binder, node: exp.Expr) -> Expression:
    quoted = isinstance(node.this, exp.Identifier)
    name = str(node.this).lower()
    if not quoted and name == "array":
        return array_of(binder, node.expressions[0])
    if not quoted and name in _REFUSED:
        raise refused(name.upper(), GROUPINGS if name == "grouping" else ELSEWHERE)
    if not quoted and name in _PRECISE:
        return sql_value(binder, name, tuple(node.expressions))
    if not quoted and name in _KEYWORDS:
        return _KEYWORDS[name](binder, tuple(binder.expression(argument) for argument in node.expressions))
    return _bound(binder, _read_call(node))


def _bound(binder: Binder, call: _Call) -> Function | Aggregate:
    return _apply(binder, call, tuple(binder.expression(argument) for argument in call.arguments), _PLAIN)


def apply_function(binder: Binder, name: str, arguments: tuple[Expression, ...]) -> Expression:
    """The function of this name on these arguments, cast to what it takes."""
    return _apply(binder, _Call(name, ()), arguments, ("function",))


def _apply(
    binder: Binder, call: _Call, given: tuple[Expression, ...], kinds: tuple[FunctionKind, ...]
) -> Function | Aggregate:
    types = tuple(argument.type.oid for argument in given)
    meaning = find_function(binder.signatures, call.name, kinds, types, variadic=call.variadic)
    function = meaning.signature
    assert isinstance(function, FunctionSignature)
    if function.returns_set:
        raise refused(f"the set-returning function {call.name}", "Keep its rows in a table, and join that.")
    if any(isinstance(argument, Row) for argument in given) and function.name != "count":
        raise refused(f"a row as an argument of {call.name}", "Name its columns one by one.")
    taken = _taken(binder, meaning, given)
    type_ = computed_type(binder.signatures, meaning.result, taken)
    collation = _collation(function, taken)
    match function.kind:
        case "aggregate":
            return _aggregate(binder, call, function, taken, collation, type_)
        case "ordered aggregate":
            raise refused(f"the ordered-set aggregate {call.name}", "Aggregate when the result is read.")
        case _:
            if call.condition is not None or call.distinct or call.order:
                raise refused(f"FILTER, DISTINCT or ORDER BY with the function {call.name}")
            return Function(function.oid, call.name, taken, call.variadic, collation, type_)


def _collation(function: FunctionSignature, arguments: tuple[Expression, ...]) -> int:
    """What a function compares by, or changes the case by; the others need none."""
    if function.name in COMPARING:
        return collation_for("string comparison", arguments)
    if function.name in CHANGING_CASE:
        return collation_for(f"{function.name}() function", arguments)
    return derive(arguments).collation


def _taken(binder: Binder, meaning: Meaning, given: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(
        argument
        if oid not in binder.signatures.types or _pseudo(binder, oid)
        else coerced(binder.signatures, argument, oid)
        for argument, oid in zip(given, meaning.arguments, strict=True)
    )


def _pseudo(binder: Binder, oid: int) -> bool:
    return binder.signatures.types[oid].kind == "p"


def _aggregate(
    binder: Binder,
    call: _Call,
    function: FunctionSignature,
    arguments: tuple[Expression, ...],
    collation: int,
    type_: SqlType,
) -> Aggregate:
    condition = None if call.condition is None else binder.expression(call.condition)
    order = tuple(sort_key(binder, key) for key in call.order)
    parts = (*arguments, *(key.expression for key in order), *(() if condition is None else (condition,)))
    return Aggregate(
        oid=function.oid,
        name=call.name,
        arguments=arguments,
        distinct=call.distinct,
        order=order,
        condition=condition,
        level=lowest_level(parts),
        collation=collation,
        type=type_,
    )


def _filter(binder: Binder, node: exp.Expr) -> Expression:
    return _bound(binder, _read_call(node.this, node.expression.this))


def _window(binder: Binder, node: exp.Expr) -> Expression:
    inner, condition = node.this, None
    if isinstance(inner, exp.Filter):
        inner, condition = inner.this, inner.expression.this
    call = _read_call(inner, condition)
    given = tuple(binder.expression(argument) for argument in call.arguments)
    bound = _apply(binder, call, given, _WINDOWS)
    parts = _definition(binder, node)
    order = parts.get("order")
    return Window(
        bound,
        tuple(binder.expression(key) for key in parts.get("partition_by") or ()),
        () if order is None else tuple(sort_key(binder, key) for key in order.expressions),
        _frame(binder, parts.get("spec")),
        bound.type,
    )


def _definition(binder: Binder, node: exp.Expr) -> Mapping[str, Any]:
    """The parts of a window; those that a named one has, it takes from there."""
    parts = {part: node.args[part] for part in ("partition_by", "order", "spec") if node.args.get(part)}
    alias = node.args.get("alias")
    return parts if alias is None else {**parts, **_definition(binder, binder.windows[folded(alias)])}


def _frame(binder: Binder, spec: exp.Expr | None) -> Frame | None:
    if spec is None:
        return None
    unit, exclude = str(spec.args["kind"]).lower(), spec.args.get("exclude")
    return Frame(
        unit,
        _frame_bound(binder, unit, spec.args["start"], spec.args.get("start_side")),
        _frame_bound(binder, unit, spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side")),
        None if exclude is None else exclude.name.lower(),
    )


def _frame_bound(binder: Binder, unit: str, value: str | exp.Expr, side: str | None) -> FrameBound:
    if isinstance(value, str):
        return FrameBound(f"{value} {side or ''}".strip().lower(), None)
    offset = binder.expression(value)
    if unit != "range":
        offset = coerced(binder.signatures, offset, INT8)
    return FrameBound(str(side).lower(), offset)


def _special(name: str, *parts: str) -> Rule:
    """A call in a syntax of its own: the function, and the node's parts in the order of its arguments."""

    def bind(binder: Binder, node: exp.Expr) -> Expression:
        given = tuple(node.args[part] for part in parts if node.args.get(part) is not None)
        return apply_function(binder, name, tuple(binder.expression(argument) for argument in given))

    return bind


def _extract(binder: Binder, node: exp.Expr) -> Expression:
    unit = Constant(node.name.lower(), SqlType(TEXT, -1, binder.signatures.types[TEXT].collation))
    return apply_function(binder, "extract", (unit, binder.expression(node.expression)))


def _trim(binder: Binder, node: exp.Expr) -> Expression:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")).upper(), "btrim")
    return _special(name, "this", "expression")(binder, node)


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.Anonymous: _call,
    exp.AtTimeZone: _special("timezone", "zone", "this"),
    exp.Extract: _extract,
    exp.Filter: _filter,
    exp.Overlay: _special("overlay", "this", "expression", "from_", "for_"),
    exp.StrPosition: _special("position", "this", "substr"),
    exp.Substring: _special("substring", "this", "start", "length"),
    exp.Trim: _trim,
    exp.Window: _window,
}
