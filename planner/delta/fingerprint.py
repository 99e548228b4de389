"""The fingerprint of what a plan computes and stores. What a plan with another one has stored cannot be used.

Two plans have the same fingerprint where every node is of the same kind, over the same inputs, in the same
order. Kinds have names of their own here, and names that are only shown (of columns, of subplans) are left
out: neither renaming a class nor renaming a column causes a result to be computed from scratch. Whoever
changes how a kind is written, or what its nodes compute, raises VERSION.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, TypeAlias, assert_never

from catalog.postgres.types import SqlType
from dialect.expressions.scalar import (
    And,
    Array,
    ArrayComparison,
    Call,
    Case,
    Cast,
    Coalesce,
    Constant,
    Element,
    Extreme,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    NullIf,
    Or,
    Reference,
    Scalar,
)
from planner.algebra.logical import AggregateCall, Aggregated, Computed, Field, Order
from planner.delta.weighted import (
    AsSet,
    Buffer,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaPlan,
    DeltaProject,
    First,
    Groups,
    Guard,
    KeySemiJoin,
    Negate,
    NodeBuffer,
    Pairs,
    PartialAggregate,
    Read,
    Rows,
    SemiJoin,
    StepRef,
    Subplan,
    Sum,
    TableBuffer,
    Tallied,
    Weighted,
)

VERSION: Final = 1

Written: TypeAlias = "list[Written] | str | int | bool | None"


def fingerprint(delta: DeltaPlan, values: Iterable[Scalar], layout: int) -> str:
    """The fingerprint of the plan, of the columns computed while publishing, and of how rows are stored."""
    written: Written = [
        layout,
        [_buffer(buffer) for buffer in delta.buffers],
        [_subplan(subplan) for subplan in delta.subplans],
        _scalars(values),
    ]
    return f"{VERSION}:{sha256(json.dumps(written).encode()).hexdigest()}"


def _buffer(buffer: Buffer) -> Written:
    match buffer:
        case TableBuffer(number=number, table=table, fields=fields, attributes=attributes):
            return ["table", number, table.schema, table.name, _fields(fields), list(attributes)]
        case NodeBuffer(number=number, fields=fields):
            return ["node", number, _fields(fields)]
        case _:
            assert_never(buffer)


def _subplan(subplan: Subplan) -> Written:
    steps: Written = [[step.number, _node(step.outcome)] for step in subplan.steps]
    return [subplan.writes, list(subplan.reads), steps, subplan.method]


def _node(node: Weighted) -> Written:  # noqa: C901 (a case for each kind)
    match node:
        case Read(buffer=buffer, moment=moment, fields=fields):
            return ["read", buffer, moment.value, _fields(fields)]
        case StepRef(step=step, fields=fields):
            return ["use", step, _fields(fields)]
        case Rows(rows=rows, fields=fields):
            return ["rows", [_scalars(row) for row in rows], _fields(fields)]
        case DeltaFilter(input=child, condition=condition):
            return ["where", _node(child), _scalar(condition)]
        case DeltaProject(input=child, columns=columns):
            return ["compute", _node(child), [_computed(column) for column in columns]]
        case Pairs(left=left, right=right, condition=condition):
            return ["pairs", _node(left), _node(right), _scalar(condition)]
        case SemiJoin(left=left, right=right, condition=condition, negated=negated):
            return ["matched", _node(left), _node(right), _scalar(condition), negated]
        case KeySemiJoin(input=child, of=others, keys=keys):
            return ["among", _node(child), _node(others), _fields(keys)]
        case Choose(guard=guard, shortcut=shortcut, general=general):
            return ["choose", _guard(guard), _node(shortcut), _node(general)]
        case Sum(inputs=inputs, fields=fields):
            return ["sum", [_node(child) for child in inputs], _fields(fields)]
        case Negate(input=child):
            return ["negate", _node(child)]
        case Consolidate(input=child):
            return ["consolidate", _node(child)]
        case AsSet(input=child):
            return ["once", _node(child)]
        case PartialAggregate(input=child, keys=keys, columns=columns):
            return ["tallies", _node(child), _fields(keys), [_tallied(column) for column in columns]]
        case Groups(input=child, keys=keys, columns=columns):
            return ["groups", _node(child), _fields(keys), [_aggregated(column) for column in columns]]
        case First(input=child, order=order, limit=limit, offset=offset):
            return ["first", _node(child), [_order(key) for key in order], limit, offset]
        case _:
            assert_never(node)


def _scalar(value: Scalar) -> Written:  # noqa: C901 (a case for each kind)
    match value:
        case Reference(column=column, type=type_):
            return ["column", column, _type(type_)]
        case Constant(text=text, type=type_):
            return ["constant", text, _type(type_)]
        case Call(function=function, name=name, arguments=arguments, collation=collation, type=type_):
            return ["call", function, name, _scalars(arguments), collation, _type(type_)]
        case Cast(argument=argument, method=method, function=function, type=type_):
            return ["cast", _scalar(argument), method.value, function, _type(type_)]
        case And(arguments=arguments):
            return ["and", _scalars(arguments)]
        case Or(arguments=arguments):
            return ["or", _scalars(arguments)]
        case Not(argument=argument):
            return ["not", _scalar(argument)]
        case IsNull(argument=argument):
            return ["is null", _scalar(argument)]
        case IsTruth(argument=argument, truth=truth):
            return ["is", _scalar(argument), truth.value]
        case IsDistinct(equality=equality):
            return ["is distinct", _scalar(equality)]
        case Case(branches=branches, default=default, type=type_):
            results = [[_scalar(branch.condition), _scalar(branch.result)] for branch in branches]
            return ["case", [*results], _scalar(default), _type(type_)]
        case Coalesce(arguments=arguments, type=type_):
            return ["coalesce", _scalars(arguments), _type(type_)]
        case NullIf(equality=equality, type=type_):
            return ["nullif", _scalar(equality), _type(type_)]
        case Extreme(greatest=greatest, arguments=arguments, collation=collation, type=type_):
            return ["greatest" if greatest else "least", _scalars(arguments), collation, _type(type_)]
        case Array(elements=elements, type=type_):
            return ["array", _scalars(elements), _type(type_)]
        case Element(type=type_):
            return ["element", _type(type_)]
        case ArrayComparison(quantifier=quantifier, comparison=comparison, array=array):
            return [quantifier.value, _scalar(comparison), _scalar(array)]
        case _:
            assert_never(value)


def _call(call: AggregateCall) -> Written:
    return [
        call.function,
        call.name,
        _scalars(call.arguments),
        call.distinct,
        [_order(key) for key in call.order],
        None if call.condition is None else _scalar(call.condition),
        call.collation,
        _type(call.type),
    ]


def _aggregated(column: Aggregated) -> Written:
    return [_field(column.field), _call(column.call)]


def _computed(column: Computed) -> Written:
    return [_field(column.field), _scalar(column.value)]


def _tallied(column: Tallied) -> Written:
    return [
        _field(column.field),
        column.tally.value,
        None if column.value is None else _scalar(column.value),
    ]


def _order(key: Order) -> Written:
    return [_scalar(key.value), key.descending, key.nulls_first, key.breaks_ties]


def _guard(guard: Guard) -> Written:
    return [list(guard.appended), [list(pair) for pair in guard.level]]


def _scalars(values: Iterable[Scalar]) -> Written:
    return [_scalar(value) for value in values]


def _fields(fields: Iterable[Field]) -> Written:
    return [_field(field) for field in fields]


def _field(field: Field) -> Written:
    return [field.column, _type(field.type)]


def _type(type_: SqlType) -> Written:
    return [type_.oid, type_.typmod, type_.collation, type_.wide]
