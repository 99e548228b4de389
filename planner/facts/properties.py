"""Properties of a plan's rows that follow from the constraints of its tables, with the proofs."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from catalog.postgres.schema import Table, Tables
from dialect.expressions.scalar import Constant, Reference
from planner.algebra.columns import column_numbers
from planner.algebra.counts import over_no_rows
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)
from planner.facts.dependencies import NONE, Columns, Dependency, Properties, equivalent, settled
from planner.facts.nullability import is_never_null


class KnownProperties:
    """Properties of plans and of all their parts, each derived once."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known: dict[int, tuple[Plan, Properties]] = {}  # by identity: hashing a plan walks over it

    def of(self, plan: Plan) -> Properties:
        """The plan's keys, dependencies and columns without NULL."""
        known = self._known.get(id(plan))
        if known is None:
            known = self._known[id(plan)] = plan, self._derived(plan)
        return known[1]

    def _derived(self, plan: Plan) -> Properties:
        match plan:
            case Scan(table=table):
                return _scan(plan, self._tables.get(table))
            case Values():
                return _values(plan)
            case Filter(input=child, condition=condition):
                return self.of(child).where(condition)
            case Project(input=child):
                return _project(plan, self.of(child))
            case Join(left=left, right=right):
                return _join(plan, self.of(left), self.of(right))
            case Aggregate(input=child):
                return _aggregate(plan, self.of(child))
            case Distinct(input=child):
                return _with_key(self.of(child), column_numbers(child))
            case Union(inputs=inputs):
                return _union(plan, tuple(map(self.of, inputs)))
            case Top(input=child, limit=limit):
                properties = self.of(child)
                return _with_key(properties, NONE) if limit is not None and limit <= 1 else properties
            case _:
                assert_never(plan)


def _scan(scan: Scan, table: Table | None) -> Properties:
    """What the table's constraints say of the columns that are read."""
    if table is None:
        return Properties(column_numbers(scan))
    read = {column.attribute: column.field.column for column in scan.columns}
    numbers = {column.name: read[column.attribute] for column in table.columns if column.attribute in read}
    unique = (frozenset(numbers[name] for name in key) for key in table.keys if numbers.keys() >= set(key))
    filled = {column.name for column in table.columns if not column.nullable}
    not_null = frozenset(number for name, number in numbers.items() if name in filled)
    return settled(Properties(column_numbers(scan), unique=tuple(unique), not_null=not_null))


def _values(values: Values) -> Properties:
    """Rows written out: a column has no NULL unless one is written; fewer than two rows are at most one."""
    constant = zip(*values.rows, strict=True) if values.rows else ((),) * len(values.fields)
    not_null = frozenset(
        field.column
        for field, written in zip(values.fields, constant, strict=True)
        if all(is_never_null(value, NONE) for value in written)
    )
    return Properties(column_numbers(values), (NONE,) if len(values.rows) <= 1 else (), not_null=not_null)


def _with_key(properties: Properties, key: Columns) -> Properties:
    return settled(replace(properties, keys=(*properties.keys, key)))


def _project(project: Project, properties: Properties) -> Properties:
    """A column under another number has the same value; a constant is the same in all rows."""
    more: list[Dependency] = []
    not_null: set[int] = set()
    for computed in project.columns:
        match computed.value:
            case Reference(column=column):
                more += equivalent(column, computed.field.column)
            case Constant():
                more.append(Dependency(NONE, frozenset({computed.field.column})))
        if is_never_null(computed.value, properties.not_null):
            not_null.add(computed.field.column)
    numbers = column_numbers(project)
    widened = replace(
        properties,
        columns=properties.columns | numbers,
        not_null=properties.not_null | not_null,
        dependencies=(*properties.dependencies, *more),
    )
    return widened.project(numbers)


def _join(join: Join, left: Properties, right: Properties) -> Properties:
    match join.kind:
        case JoinKind.SEMI:
            return _where_left(join, left)
        case JoinKind.ANTI:
            return left  # some of its rows
        case JoinKind.INNER:
            return _pairs(left, right).where(join.condition)
        case JoinKind.LEFT:
            return _outer(join, left, right)
        case JoinKind.RIGHT:
            return _outer(join, right, left)
        case JoinKind.FULL:
            return _full(left, right)
        case _:
            assert_never(join.kind)


def _where_left(join: Join, left: Properties) -> Properties:
    """A row that has a partner meets what the condition says of it alone."""
    joined = left.where(join.condition)
    return replace(joined, not_null=joined.not_null & left.columns)


def _pairs(left: Properties, right: Properties) -> Properties:
    """Pairs that agree on a key of each side are one; those that agree on a side's key agree on that side."""
    keys = tuple(one | other for one in left.keys for other in right.keys)
    sides = tuple(Dependency(key, side.columns) for side in (left, right) for key in side.keys)
    return settled(
        Properties(
            left.columns | right.columns,
            keys,
            not_null=left.not_null | right.not_null,
            dependencies=(*left.dependencies, *right.dependencies, *sides),
        )
    )


def _outer(join: Join, kept: Properties, padded: Properties) -> Properties:
    """A kept row has pairs or is padded, never both: so the pairs' keys are still keys, NULLs included.

    Where the condition leaves at most one partner, the kept row determines its one row. What was never NULL
    on the other side may be; a dependency there may not hold between a padded row and another.
    """
    pairs = _pairs(kept, padded).where(join.condition)
    keys = tuple(one | other for one in kept.keys for other in padded.keys)
    one_partner = any(key <= pairs.determined(kept.columns) for key in padded.keys)
    more = tuple(Dependency(key, pairs.columns) for key in kept.keys) if one_partner else ()
    return settled(
        Properties(
            pairs.columns,
            (*keys, *kept.keys) if one_partner else keys,
            not_null=kept.not_null,
            dependencies=(*kept.dependencies, *more),
        )
    )


def _full(left: Properties, right: Properties) -> Properties:
    """Rows that agree on a key of each side are the same, padded or not, if a column of them has no NULLs.

    Else a left and a right row without partners could both have NULLs in all of it.
    """
    keys = tuple(
        one | other
        for one in left.keys
        for other in right.keys
        if one & left.not_null or other & right.not_null
    )
    return settled(Properties(left.columns | right.columns, keys))


def _aggregate(aggregate: Aggregate, properties: Properties) -> Properties:
    """One row for each group, so its keys are a key; what holds of the rows holds of the keys they share."""
    keys = frozenset(key.column for key in aggregate.keys)
    groups = properties.project(keys)
    given = (column for column in aggregate.columns if _gives_value(column.call, keys, properties.not_null))
    columns = column_numbers(aggregate)
    return settled(
        replace(
            groups,
            columns=columns,
            keys=(*groups.keys, keys),
            not_null=groups.not_null | {column.field.column for column in given},
            dependencies=(*groups.dependencies, Dependency(keys, columns)),
        )
    )


def _gives_value(call: AggregateCall, keys: Columns, not_null: Columns) -> bool:
    """Counts are never NULL, nor are these of values that are not where a group has a row."""
    if over_no_rows(call) is not None:
        return True
    plain = call.name in ("sum", "avg", "min", "max", "bool_and", "bool_or") and call.condition is None
    return plain and bool(keys) and all(is_never_null(argument, not_null) for argument in call.arguments)


def _union(union: Union, inputs: tuple[Properties, ...]) -> Properties:
    """A column has no NULL where no input has one there; two inputs may give the same row."""
    places = [[field.column for field in fields(plan)] for plan in union.inputs]
    not_null = frozenset(
        field.column
        for place, field in enumerate(union.fields)
        if all(
            columns[place] in properties.not_null for columns, properties in zip(places, inputs, strict=True)
        )
    )
    return Properties(column_numbers(union), not_null=not_null)
