"""A bound query as text to read and compare: one line for each part, every expression with its type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from catalog.postgres.signatures import Signatures
from catalog.postgres.types import CONFLICTING, DEFAULT_COLLATION, NO_COLLATION, NO_TYPMOD, SqlType
from dialect.bound.expression import (
    Aggregate,
    ArraySubquery,
    Collate,
    Column,
    Exists,
    Expression,
    Frame,
    FrameBound,
    Function,
    Operator,
    Output,
    QuantifiedSubquery,
    Row,
    RowComparison,
    ScalarSubquery,
    SortKey,
    SqlValue,
    SubqueryColumn,
    Subscript,
    Window,
)
from dialect.bound.query import (
    Body,
    CommonTableScan,
    Derived,
    FromItem,
    Join,
    OutputColumn,
    Query,
    Scan,
    Select,
    SetOperation,
    Values,
)
from dialect.expressions.scalar import (
    And,
    Array,
    ArrayComparison,
    Case,
    Cast,
    Coalesce,
    Composed,
    Constant,
    Element,
    Extreme,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    NullIf,
    Or,
)


class BoundText:
    """Writes bound queries; types by the names that the snapshot has."""

    def __init__(self, signatures: Signatures) -> None:
        self._signatures = signatures

    def query(self, query: Query) -> str:
        """The whole query."""
        return "\n".join(self._query(query))

    def type(self, type_: SqlType) -> str:
        """A type with its modifier, and its collation where that is not the default one."""
        name = self._signatures.types[type_.oid].name
        modifier = "" if type_.typmod == NO_TYPMOD else f"({type_.typmod})"
        if type_.collation in (NO_COLLATION, DEFAULT_COLLATION):
            return name + modifier
        return f"{name}{modifier}/{'?' if type_.collation == CONFLICTING else type_.collation}"

    def _query(self, query: Query) -> Iterator[str]:
        for number, common in enumerate(query.common_tables):
            how = {None: "", True: " materialized", False: " not materialized"}[common.materialized]
            yield f"with {number} {common.name}{how}"
            yield from _indented(self._query(common.query))
        yield from self._body(query.body)
        if query.order:
            yield f"  order {', '.join(self._key(key) for key in query.order)}"
        if query.limit is not None:
            yield f"  limit {self._text(query.limit)}"
        if query.offset is not None:
            yield f"  offset {self._text(query.offset)}"

    def _body(self, body: Body) -> Iterator[str]:
        match body:
            case Select():
                yield from self._select(body)
            case SetOperation():
                yield f"{body.kind.value}{' all' if body.all else ''} ({self._columns(body.columns)})"
                yield from _indented(self._query(body.left))
                yield from _indented(self._query(body.right))
            case Values():
                yield f"values ({self._columns(body.columns)})"
                for row in body.rows:
                    yield f"  {', '.join(self._text(value) for value in row)}"
            case _:
                assert_never(body)

    def _select(self, select: Select) -> Iterator[str]:
        how = " distinct" if select.distinct and not select.distinct_on else ""
        yield f"select{how}{' grouped' if select.grouped else ''}"
        if select.distinct_on:
            yield f"  distinct on {', '.join(self._text(expression) for expression in select.distinct_on)}"
        for target in select.targets:
            yield f"  {target.name} = {self._text(target.expression)}"
        for source in select.sources:
            yield from _indented(self._source(source))
        if select.condition is not None:
            yield f"  where {self._text(select.condition)}"
        for key in select.group:
            yield f"  group {self._text(key)}"
        if select.having is not None:
            yield f"  having {self._text(select.having)}"

    def _source(self, item: FromItem) -> Iterator[str]:
        match item:
            case Scan():
                yield f"from {item.source} {item.alias}: {item.table.schema}.{item.table.name}"
            case CommonTableScan():
                yield f"from {item.source} {item.alias}: with {item.common_table} of level {item.level}"
            case Derived():
                columns = ", ".join(column.name for column in item.columns)
                yield f"from {item.source} {item.alias}({columns}):{' lateral' if item.lateral else ''}"
                yield from _indented(self._query(item.query))
            case Join():
                on = "" if item.condition is None else f" on {self._text(item.condition)}"
                yield f"{item.kind.value} join{on}"
                yield from _indented(self._source(item.left))
                yield from _indented(self._source(item.right))
            case _:
                assert_never(item)

    def _columns(self, columns: tuple[OutputColumn, ...]) -> str:
        return ", ".join(f"{column.name}:{self.type(column.type)}" for column in columns)

    def _key(self, key: SortKey) -> str:
        order = f"{' desc' if key.descending else ''} nulls {'first' if key.nulls_first else 'last'}"
        return self._text(key.expression) + order

    def _text(self, expression: Expression) -> str:
        return f"{self._bare(expression)}:{self.type(expression.type)}"

    def _list(self, expressions: tuple[Expression, ...]) -> str:
        return ", ".join(self._text(expression) for expression in expressions)

    def _nested(self, query: Query) -> str:
        return "{" + "; ".join(line.strip() for line in self._query(query)) + "}"

    def _bare(self, expression: Expression) -> str:
        match expression:
            case Column() | Output() | SqlValue() | SubqueryColumn():
                return _leaf(expression)
            case Operator() | Function() | Collate() | Subscript() | Row() | RowComparison():
                return self._applied(expression)
            case ScalarSubquery() | Exists() | ArraySubquery() | QuantifiedSubquery():
                return self._subquery(expression)
            case Aggregate():
                return self._aggregate(expression)
            case Window():
                return self._window(expression)
            case _:
                return self._composed(expression)

    def _applied(self, expression: Operator | Function | Collate | Subscript | Row | RowComparison) -> str:
        match expression:
            case Operator(name=name, arguments=(left, right)):
                return f"({self._text(left)} {name} {self._text(right)})"
            case Operator(name=name, arguments=arguments):
                return f"({name} {self._list(arguments)})"
            case Function(name=name, arguments=arguments, variadic=variadic):
                return f"{name}({'variadic ' if variadic else ''}{self._list(arguments)})"
            case Collate(argument=argument):
                return f"collate({self._text(argument)})"
            case Subscript(array=array, indexes=indexes):
                return f"{self._text(array)}[{self._list(indexes)}]"
            case Row(fields=fields):
                return f"row({self._list(fields)})"
            case RowComparison(name=name, pairs=pairs):
                return f"rows {name} ({self._list(pairs)})"
            case _:
                assert_never(expression)

    def _subquery(self, expression: ScalarSubquery | Exists | ArraySubquery | QuantifiedSubquery) -> str:
        match expression:
            case ScalarSubquery(query=query):
                return self._nested(query)
            case Exists(query=query):
                return f"exists {self._nested(query)}"
            case ArraySubquery(query=query):
                return f"array {self._nested(query)}"
            case QuantifiedSubquery(quantifier=quantifier, comparisons=comparisons, query=query):
                return f"{quantifier.value} ({self._list(comparisons)}) in {self._nested(query)}"
            case _:
                assert_never(expression)

    def _composed(self, expression: Composed[Expression, Operator]) -> str:  # noqa: C901 (a case for each kind)
        match expression:
            case Constant(text=text):
                return "null" if text is None else repr(text)
            case Element():
                return "element 0"
            case Cast(argument=argument, method=method):
                return f"{method.value}({self._text(argument)})"
            case And(arguments=arguments):
                return f"({' and '.join(self._text(argument) for argument in arguments)})"
            case Or(arguments=arguments):
                return f"({' or '.join(self._text(argument) for argument in arguments)})"
            case Not(argument=IsNull(argument=argument)):
                return f"({self._text(argument)} is not null)"
            case Not(argument=argument):
                return f"(not {self._text(argument)})"
            case IsNull(argument=argument):
                return f"({self._text(argument)} is null)"
            case IsTruth(argument=argument, truth=truth):
                return f"({self._text(argument)} is {truth.value})"
            case IsDistinct(equality=equality):
                return f"(distinct {self._text(equality)})"
            case Case(branches=branches, default=default):
                whens = (
                    f"when {self._text(branch.condition)} then {self._text(branch.result)}"
                    for branch in branches
                )
                return f"case {' '.join(whens)} else {self._text(default)} end"
            case Coalesce(arguments=arguments):
                return f"coalesce({self._list(arguments)})"
            case NullIf(equality=equality):
                return f"nullif({self._text(equality)})"
            case Extreme(greatest=greatest, arguments=arguments):
                return f"{'greatest' if greatest else 'least'}({self._list(arguments)})"
            case Array(elements=elements):
                return f"array[{self._list(elements)}]"
            case ArrayComparison(quantifier=quantifier, comparison=comparison, array=array):
                return f"{quantifier.value} {self._text(comparison)} in {self._text(array)}"
            case _:
                assert_never(expression)

    def _aggregate(self, call: Aggregate) -> str:
        inside = ("distinct " if call.distinct else "") + (self._list(call.arguments) or "*")
        order = f" order {', '.join(self._key(key) for key in call.order)}" if call.order else ""
        condition = "" if call.condition is None else f" filter {self._text(call.condition)}"
        return f"{'^' * call.level}{call.name}({inside}{order}){condition}"

    def _window(self, window: Window) -> str:
        parts = []
        if window.partition:
            parts.append(f"partition {self._list(window.partition)}")
        if window.order:
            parts.append(f"order {', '.join(self._key(key) for key in window.order)}")
        if window.frame is not None:
            parts.append(self._frame(window.frame))
        return f"{self._bare(window.call)} over ({' '.join(parts)})"

    def _frame(self, frame: Frame) -> str:
        exclude = "" if frame.exclude is None else f" exclude {frame.exclude}"
        return f"{frame.unit} {self._bound(frame.start)} to {self._bound(frame.end)}{exclude}"

    def _bound(self, bound: FrameBound) -> str:
        return bound.side if bound.offset is None else f"{self._text(bound.offset)} {bound.side}"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _leaf(expression: Column | Output | SqlValue | SubqueryColumn) -> str:
    match expression:
        case Column(level=level, source=source, name=name):
            return f"{'^' * level}{source}.{name}"
        case Output(column=column):
            return f"output {column}"
        case SqlValue(name=name):
            return name
        case SubqueryColumn(column=column):
            return f"element {column}"
        case _:
            assert_never(expression)
