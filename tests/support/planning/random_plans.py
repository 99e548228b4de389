"""Random small plans over three tables of small integers and floats, and random changes of the tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from hypothesis import strategies as st

from catalog.postgres.schema import Column, Table, TableName, Tables
from catalog.postgres.types import BOOL, BOOLEAN, FLOAT8, INT4, INT8, NUMERIC, SqlType
from dialect.expressions.scalar import And, Call, Constant, IsNull, Not, Notation, Or, Scalar
from executors.reference.firing import Changes
from executors.reference.values.values import Row
from planner.algebra.columns import Numbers, passing, refer, renumbered
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Aggregated,
    Computed,
    Distinct,
    Field,
    Filter,
    Join,
    JoinKind,
    LogicalQuery,
    Order,
    Output,
    Plan,
    Project,
    Scan,
    TableColumn,
    Top,
    Union,
    Values,
    fields,
)

INTEGER: Final = SqlType(INT4)
FLOAT: Final = SqlType(FLOAT8)


def _table(name: str, *columns: Column) -> Table:
    numbered = tuple(replace(column, attribute=place + 1) for place, column in enumerate(columns))
    return Table(TableName("public", name), numbered)


INTEGERS: Final = _table("r", Column("a", INTEGER), Column("b", INTEGER))
FILLED: Final = _table("s", Column("c", INTEGER), Column("d", INTEGER, nullable=False))
FLOATS: Final = _table("t", Column("e", INTEGER, nullable=False), Column("f", FLOAT))
TABLES: Final[Tables] = {table.name: table for table in (INTEGERS, FILLED, FLOATS)}

_FUNCTIONS: Final = (
    ("count", 2147, INT4, INT8),
    ("sum", 2108, INT4, INT8),
    ("avg", 2101, INT4, NUMERIC),
    ("min", 2132, INT4, INT4),
    ("max", 2116, INT4, INT4),
    ("sum", 2111, FLOAT8, FLOAT8),
    ("avg", 2105, FLOAT8, FLOAT8),
    ("max", 2120, FLOAT8, FLOAT8),
    ("bool_and", 2517, BOOL, BOOL),
    ("bool_or", 2518, BOOL, BOOL),
)


def call(function: int, name: str, type_: SqlType, *arguments: Scalar) -> Call:
    """A call of an operator."""
    return Call(function, name, Notation.OPERATOR, arguments, 0, type_)


def columns_of(table: Table, numbers: Numbers | None = None) -> tuple[TableColumn, ...]:
    """All columns of the table, under numbers of their own."""
    given = numbers or Numbers()
    return tuple(
        TableColumn(given.field(column.name, column.type), column.attribute) for column in table.columns
    )


@dataclass
class Draw:
    """Draws the parts of a plan; every column has its own number."""

    draw: st.DrawFn
    numbers: Numbers = field(default_factory=Numbers)
    tables: Tables = field(default_factory=lambda: TABLES)

    def plan(self, nodes: int) -> Plan:
        """A plan of about so many nodes above its leaves."""
        if nodes <= 0:
            return self.leaf()
        kind = self.draw(st.sampled_from(_KINDS))
        if kind in ("join", "union"):
            of_left = self.draw(st.integers(0, nodes - 1))
            left = self.plan(of_left)
            right = self.plan(nodes - 1 - of_left) if self.draw(st.integers(0, 3)) else self.again(left)
            return self.join(left, right) if kind == "join" else self.union(left, right)
        child = self.plan(nodes - 1)
        match kind:
            case "filter":
                return Filter(child, self.condition(fields(child)))
            case "project":
                return self.project(child)
            case "aggregate":
                return self.aggregate(child)
            case "top":
                return self.top(child)
            case _:
                return Distinct(child)

    def again(self, plan: Plan) -> Plan:
        """The plan under other numbers."""
        return renumbered(plan, self.numbers)[0]

    def leaf(self) -> Plan:
        table = self.draw(st.sampled_from([*self.tables.values(), *self.tables.values(), None]))
        if table is None:
            values = st.lists(st.tuples(st.sampled_from((None, "0", "1"))), max_size=2)
            rows = tuple(tuple(Constant(value, INTEGER) for value in row) for row in self.draw(values))
            return Values(rows, (self.numbers.field("v", INTEGER),))
        return self.scan(table)

    def scan(self, table: Table) -> Scan:
        return Scan(table.name, table.name.name, columns_of(table, self.numbers))

    def join(self, left: Plan, right: Plan) -> Join:
        kind = self.draw(st.sampled_from(JoinKind))
        return Join(kind, left, right, self.condition(fields(left), fields(right)))

    def condition(self, *sides: tuple[Field, ...]) -> Scalar:
        """A condition on integers of one or two relations: also one that NULLs satisfy, and none at all."""
        found = [[refer(field) for field in side if field.type == INTEGER] for side in sides]
        if not all(found):
            return And(())
        one: Scalar = self.draw(st.sampled_from(found[0]))
        other: Scalar = self.draw(st.sampled_from(found[-1]))
        if len(sides) == 1:
            other = Constant(str(self.draw(st.integers(0, 1))), INTEGER)
        equal, less = call(65, "=", BOOLEAN, one, other), call(66, "<", BOOLEAN, one, other)
        more = self.draw(st.sampled_from(found[-1]))
        conditions: tuple[Scalar, ...] = (
            equal,
            equal,
            less,
            Or((equal, IsNull(equal))),
            And((equal, Not(IsNull(more)))),
            And((equal, call(66, "<", BOOLEAN, more, Constant("1", INTEGER)))),
            IsNull(one),
            And(()),
        )
        return self.draw(st.sampled_from(conditions))

    def project(self, child: Plan) -> Project:
        kept = tuple(field for field in fields(child) if self.draw(st.booleans()))
        integers = [refer(field) for field in fields(child) if field.type == INTEGER]
        if not integers:
            return Project(child, passing(kept))
        one, other = self.draw(st.sampled_from(integers)), self.draw(st.sampled_from(integers))
        total = Computed(self.numbers.field("total", INTEGER), call(177, "+", INTEGER, one, other))
        flag = Computed(self.numbers.field("flag", BOOLEAN), self.condition(fields(child)))
        return Project(child, (*passing(kept), total, flag))

    def aggregate(self, child: Plan) -> Aggregate:
        keys = tuple(field for field in fields(child) if self.draw(st.integers(0, 2)) == 0)
        calls = tuple(self.call(fields(child)) for _ in range(self.draw(st.integers(0, 3))))
        if not keys and not calls:
            calls = (self.call(fields(child)),)
        return Aggregate(
            child,
            keys,
            tuple(
                Aggregated(self.numbers.field(aggregate.name, aggregate.type), aggregate)
                for aggregate in calls
            ),
        )

    def call(self, columns: tuple[Field, ...]) -> AggregateCall:
        condition = self.condition(columns) if self.draw(st.integers(0, 3)) == 0 else None
        fitting = [
            (function, column)
            for function in _FUNCTIONS
            for column in columns
            if function[2] == column.type.oid
        ]
        if not fitting or self.draw(st.integers(0, 4)) == 0:
            return AggregateCall(2803, "count", (), SqlType(INT8), condition=condition)
        (name, function, _, type_), column = self.draw(st.sampled_from(fitting))
        distinct = self.draw(st.integers(0, 4)) == 0
        return AggregateCall(
            function, name, (refer(column),), SqlType(type_), distinct=distinct, condition=condition
        )

    def union(self, left: Plan, right: Plan) -> Union:
        """Of the integers of both, so that types agree."""
        sides = [[field for field in fields(side) if field.type == INTEGER] for side in (left, right)]
        width = min(map(len, sides))
        inputs = tuple(
            Project(side, passing(columns[:width]))
            for side, columns in zip((left, right), sides, strict=True)
        )
        return Union(inputs, tuple(self.numbers.field("u", INTEGER) for _ in range(width)))

    def top(self, child: Plan) -> Top:
        order = tuple(
            Order(refer(field), self.draw(st.booleans()), self.draw(st.booleans())) for field in fields(child)
        )
        return Top(child, order, self.draw(st.sampled_from((None, 0, 1, 2))), self.draw(st.integers(0, 1)))


_KINDS: Final = (
    "filter",
    "project",
    "join",
    "join",
    "join",
    "aggregate",
    "aggregate",
    "distinct",
    "union",
    "top",
)


@st.composite
def plans(draw: st.DrawFn, tables: Tables = TABLES, most: int = 3) -> Plan:
    """A plan of some nodes."""
    return Draw(draw, tables=tables).plan(draw(st.integers(1, most)))


@st.composite
def queries(draw: st.DrawFn, most: int = 3) -> LogicalQuery:
    """A query whose outputs are its plan's columns, some of them left out, some twice."""
    plan = draw(plans(most=most))
    these = fields(plan)
    kept = draw(st.lists(st.sampled_from(these), max_size=len(these) + 1)) if these else []
    chosen = these if draw(st.booleans()) else tuple(kept)
    return LogicalQuery(plan, tuple(Output(field.name, field.column) for field in chosen))


@st.composite
def aggregates(draw: st.DrawFn) -> LogicalQuery:
    """Every aggregate there is of one column, by the other column or over all rows."""
    making = Draw(draw)
    scan = making.scan(draw(st.sampled_from(tuple(TABLES.values()))))
    key, value = fields(scan)
    distinct = draw(st.booleans())
    calls = [
        AggregateCall(function, name, (refer(value),), SqlType(result), distinct=distinct)
        for name, function, argument, result in _FUNCTIONS
        if argument == value.type.oid
    ]
    kept = [aggregate for aggregate in calls if draw(st.booleans())]
    columns = tuple(
        Aggregated(making.numbers.field(aggregate.name, aggregate.type), aggregate) for aggregate in kept
    )
    plan = Aggregate(scan, (key,) if draw(st.integers(0, 3)) else (), columns)
    return LogicalQuery(plan, tuple(Output(field.name, field.column) for field in fields(plan)))


_VALUES: Final = {INT4: (None, 0, 1, 2), FLOAT8: (None, 0.5, 0.25, 2.0)}


def rows(table: Table) -> st.SearchStrategy[Row]:
    """Rows of a table, whatever its keys; no NULL where there must be none."""
    values = (_VALUES[column.type.oid][not column.nullable :] for column in table.columns)
    return st.tuples(*map(st.sampled_from, values))


@st.composite
def commits(draw: st.DrawFn, most: int = 4) -> list[dict[TableName, Changes]]:
    """What commits do to the tables: rows that are there go, others come, some the same as went."""
    contents: dict[TableName, Counter[Row]] = {name: Counter() for name in TABLES}
    made = []
    for _ in range(draw(st.integers(1, most))):
        commit = {}
        for name, table in TABLES.items():
            present = sorted(contents[name].elements(), key=repr)
            gone = [(row, -1) for row in present if draw(st.booleans())] if draw(st.booleans()) else []
            commit[name] = gone + [(row, 1) for row in draw(st.lists(rows(table), max_size=4))]
            for changed, weight in commit[name]:
                contents[name][changed] += weight
        made.append(commit)
    return made
