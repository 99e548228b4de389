"""Walks over plans: knows every node, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias, TypeVar, assert_never

from dialect.expressions.scalar import Reference, Scalar
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Aggregated,
    Computed,
    DependentJoin,
    DependentPlan,
    Distinct,
    Field,
    Filter,
    Join,
    Node,
    Order,
    Plan,
    PlanT,
    Project,
    Scan,
    TableColumn,
    Top,
    Union,
    Values,
    fields,
)

ColumnT = TypeVar("ColumnT", TableColumn, Computed, Aggregated)
Rule: TypeAlias = Callable[[Plan], Plan]
Change: TypeAlias = Callable[[Scalar], Scalar]
Origin: TypeAlias = AggregateCall | tuple[Scalar, ...]
"""What a column is made of: a group's rows, or values of which each row has one; none in a table."""


def children(plan: PlanT) -> tuple[PlanT, ...]:
    """The node's inputs."""
    match plan:
        case Scan() | Values():
            return ()
        case Filter(input=child) | Project(input=child) | Aggregate(input=child):
            return (child,)
        case Distinct(input=child) | Top(input=child):
            return (child,)
        case Join(left=left, right=right):
            return (left, right)
        case DependentJoin(left=left, right=right):
            return (left, right)
        case Union(inputs=inputs):
            return inputs
        case _:
            assert_never(plan)


def over(plan: Node[DependentPlan], inputs: tuple[PlanT, ...]) -> Node[PlanT]:
    """The node over other inputs, which may be of another kind."""
    match plan:
        case Scan() | Values():
            return plan
        case Filter(condition=condition):
            return Filter(inputs[0], condition)
        case Project(columns=columns):
            return Project(inputs[0], columns)
        case Join(kind=kind, condition=condition):
            return Join(kind, inputs[0], inputs[1], condition)
        case Aggregate(keys=keys, columns=aggregated):
            return Aggregate(inputs[0], keys, aggregated)
        case Distinct():
            return Distinct(inputs[0])
        case Union(fields=fields_):
            return Union(inputs, fields_)
        case Top(order=order, limit=limit, offset=offset):
            return Top(inputs[0], order, limit, offset)
        case _:
            assert_never(plan)


def with_children(plan: PlanT, inputs: tuple[PlanT, ...]) -> PlanT:
    """The node over other inputs; itself where they are the same objects."""
    if all(new is old for new, old in zip(inputs, children(plan), strict=True)):
        return plan
    if isinstance(plan, DependentJoin):
        return replace(plan, left=inputs[0], right=inputs[1])
    return over(plan, inputs)


def transform(plan: PlanT, rule: Callable[[PlanT], PlanT]) -> PlanT:
    """The rule applied to every node, from the leaves up."""
    return rule(with_children(plan, tuple(transform(child, rule) for child in children(plan))))


def transform_down(plan: Plan, rule: Rule) -> Plan:
    """The rule applied to every node, from the root down, so that it meets again what it has moved down."""
    changed = rule(plan)
    return with_children(changed, tuple(transform_down(child, rule) for child in children(changed)))


def nodes(plan: PlanT) -> Iterator[PlanT]:
    """The node and all below it, from the root down and left to right."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def expressions(plan: DependentPlan) -> tuple[Scalar, ...]:
    """The node's own expressions, not those of its inputs."""
    match plan:
        case Scan() | Distinct() | Union():
            return ()
        case Values(rows=rows):
            return tuple(value for row in rows for value in row)
        case Filter(condition=condition) | Join(condition=condition) | DependentJoin(condition=condition):
            return (condition,)
        case Project(columns=columns):
            return tuple(column.value for column in columns)
        case Aggregate(columns=aggregated):
            return tuple(value for column in aggregated for value in call_expressions(column.call))
        case Top(order=order):
            return tuple(key.value for key in order)
        case _:
            assert_never(plan)


def made(plan: DependentPlan) -> tuple[tuple[Field, Origin], ...]:
    """The columns that the node makes, and what of; the others of its columns pass through it.

    A Project also names columns that pass.
    """
    match plan:
        case Scan(columns=columns):
            return tuple((column.field, ()) for column in columns)
        case Values(rows=rows, fields=fields_):
            return tuple((field, tuple(row[place] for row in rows)) for place, field in enumerate(fields_))
        case Project(columns=computed):
            return tuple((column.field, (column.value,)) for column in computed)
        case Aggregate(columns=aggregated):
            return tuple((column.field, column.call) for column in aggregated)
        case Union(inputs=inputs, fields=fields_):
            arms = [[Reference(field.column, field.type) for field in fields(arm)] for arm in inputs]
            return tuple((field, tuple(arm[place] for arm in arms)) for place, field in enumerate(fields_))
        case Filter() | Join() | DependentJoin() | Distinct() | Top():
            return ()
        case _:
            assert_never(plan)


def with_fields(plan: PlanT, change: Callable[[Field], Field]) -> PlanT:
    """The node with each column that it names itself replaced."""
    match plan:
        case Scan(columns=columns):
            return replace(plan, columns=_with_fields(columns, change))
        case Project(columns=computed):
            return replace(plan, columns=_with_fields(computed, change))
        case Aggregate(keys=keys, columns=aggregated):
            return replace(plan, keys=tuple(map(change, keys)), columns=_with_fields(aggregated, change))
        case Values() | Union():
            return replace(plan, fields=tuple(map(change, plan.fields)))
        case Filter() | Join() | DependentJoin() | Distinct() | Top():
            return plan
        case _:
            assert_never(plan)


def _with_fields(columns: tuple[ColumnT, ...], change: Callable[[Field], Field]) -> tuple[ColumnT, ...]:
    return tuple(replace(column, field=change(column.field)) for column in columns)


def call_expressions(call: AggregateCall) -> tuple[Scalar, ...]:
    """What an aggregate computes from each row: arguments, order and condition."""
    condition = () if call.condition is None else (call.condition,)
    return (*call.arguments, *(key.value for key in call.order), *condition)


def with_expressions(plan: PlanT, change: Change) -> PlanT:
    """The node with each of its own expressions replaced."""
    match plan:
        case Scan() | Distinct() | Union():
            return plan
        case Values(rows=rows):
            return replace(plan, rows=tuple(tuple(change(value) for value in row) for row in rows))
        case Filter() | Join() | DependentJoin():
            return replace(plan, condition=change(plan.condition))
        case Project(columns=columns):
            return replace(
                plan, columns=tuple(Computed(column.field, change(column.value)) for column in columns)
            )
        case Aggregate(columns=aggregated):
            changed = tuple(
                Aggregated(column.field, _with_call(column.call, change)) for column in aggregated
            )
            return replace(plan, columns=changed)
        case Top(order=order):
            return replace(plan, order=_with_order(order, change))
        case _:
            assert_never(plan)


def _with_call(call: AggregateCall, change: Change) -> AggregateCall:
    return replace(
        call,
        arguments=tuple(change(argument) for argument in call.arguments),
        order=_with_order(call.order, change),
        condition=None if call.condition is None else change(call.condition),
    )


def _with_order(order: tuple[Order, ...], change: Change) -> tuple[Order, ...]:
    return tuple(replace(key, value=change(key.value)) for key in order)
