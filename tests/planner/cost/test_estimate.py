"""Estimates of what firings give, beside what the definition gives on random rows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from catalog.postgres.schema import TableName
from catalog.postgres.types import BOOLEAN, INT8, SqlType
from dialect.expressions.scalar import Constant, Scalar
from executors.reference.firing import Changes
from executors.reference.values.values import Row
from planner.algebra.columns import Numbers, passing, refer
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Aggregated,
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
    Top,
    fields,
)
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.delta.derive import derive
from planner.delta.weighted import DeltaPlan
from planner.pace.choose import simulated
from planner.pace.schedule import Arrivals
from tests.support.planning.random_plans import FILLED, INTEGER, INTEGERS, TABLES, call, columns_of
from tests.support.planning.replay import Replay
from tests.support.planning.schedules import only


@dataclass(frozen=True)
class Data:
    """r(a, b) has a parent's key, s(c, d) a child's parent and its size.

    Many children are of any parent; few are of parents that come with them, and many of these have none.
    """

    parents: int
    children: int
    sizes: int
    moved: int


MANY, FEW = Data(30, 640, 30, 20), Data(100, 120, 5, 0)

FIRINGS: Final = 4
SLACK: Final = 5.0
WITHIN: Final = {False: 1.75, True: 2.0}
"""Which columns move is not known: half of the rows replaced are taken to be others where they are read."""


class Make:
    """Plans over r and s, under fresh numbers."""

    def __init__(self) -> None:
        self.numbers = Numbers()
        self.r, self.s = (
            Scan(table.name, table.name.name, columns_of(table, self.numbers)) for table in (INTEGERS, FILLED)
        )
        self.a, self.b = fields(self.r)
        self.c, self.d = fields(self.s)
        self.small = call(66, "<", BOOLEAN, refer(self.d), Constant("10", INTEGER))

    def equal(self, one: Field, other: Field) -> Scalar:
        return call(65, "=", BOOLEAN, refer(one), refer(other))

    def count(self, plan: Plan, *keys: Field) -> Aggregate:
        return self.aggregate(plan, AggregateCall(2803, "count", (), SqlType(INT8)), *keys)

    def aggregate(self, plan: Plan, of: AggregateCall, *keys: Field) -> Aggregate:
        return Aggregate(plan, keys, (Aggregated(self.numbers.field(of.name, of.type), of),))

    def of(self, function: int, name: str, argument: Field, type: SqlType) -> AggregateCall:
        return AggregateCall(function, name, (refer(argument),), type)

    def join(self, kind: JoinKind) -> Join:
        return Join(kind, self.r, self.s, self.equal(self.a, self.c))


def plans() -> Iterator[tuple[str, Plan]]:
    make = Make()
    yield "groups", make.count(Filter(make.s, make.small), make.d)
    yield "groups of all", make.count(make.s)
    yield "groups of parents", make.count(make.s, make.c)
    yield "joined groups", make.count(make.join(JoinKind.INNER), make.d)
    yield "joined", make.join(JoinKind.INNER)
    yield "outer join", make.join(JoinKind.LEFT)
    yield "partners", make.join(JoinKind.SEMI)
    yield "no partners", make.join(JoinKind.ANTI)
    yield "different", Distinct(Project(make.s, passing((make.d,))))
    yield "greatest", make.aggregate(make.s, make.of(2116, "max", make.d, INTEGER), make.c)
    partners = make.of(2147, "count", make.d, SqlType(INT8))
    counted = make.aggregate(make.join(JoinKind.LEFT), partners, make.a)
    yield "groups of groups", make.count(counted, counted.columns[0].field)
    total = make.aggregate(make.s, make.of(2108, "sum", make.d, SqlType(INT8)), make.c)
    joined: Plan = Join(JoinKind.INNER, make.r, total, make.equal(make.a, make.c))
    yield "joined to groups", joined
    order = tuple(Order(refer(column), True, True) for column in (make.d, make.c))
    yield "first", Top(make.s, order, 10, 0)


PLANS: Final = dict(plans())


def batches(choice: random.Random, data: Data, changing: bool) -> Iterator[dict[TableName, Changes]]:
    """Half of all rows, then even parts of the others; if `changing`, some of those that are there move."""
    parents: list[Row] = [(parent, 0) for parent in range(data.parents)]
    choice.shuffle(parents)
    there: list[Row] = []
    for part in range(2 * FIRINGS):
        new = parents[part :: 2 * FIRINGS]
        of = parents if data is MANY else new
        come: list[Row] = [
            (choice.choice(of)[0], choice.randrange(data.sizes))
            for _ in range(data.children // (2 * FIRINGS))
        ]
        moved: Changes = []
        for _ in range(data.moved if changing and part >= FIRINGS else 0):
            old = there.pop(choice.randrange(len(there)))
            row = (old[0], choice.randrange(data.sizes))
            moved += [(old, -1), (row, 1)]
            there.append(row)
        there += come
        yield {
            INTEGERS.name: [(row, 1) for row in new],
            FILLED.name: [*moved, *((row, 1) for row in come)],
        }


def seen(plan: DeltaPlan, data: Data, changing: bool) -> Mapping[int, tuple[float, float]]:
    """Rows of both signs that each subplan writes in a period, on the average."""
    sums = {subplan.writes: [0.0, 0.0] for subplan in plan.subplans}
    turns = 1 if data is MANY else 5
    for turn in range(turns):
        replay = Replay(plan)
        for part, batch in enumerate(batches(random.Random(turn), data, changing)):
            replay.commit(batch)
            if part < FIRINGS - 1:
                continue
            for subplan in plan.subplans:
                fired = replay.fire(subplan)
                for _, weight in fired if part >= FIRINGS else ():
                    sums[subplan.writes][weight < 0] += abs(weight) / turns
    return {writes: (positive, negative) for writes, (positive, negative) in sums.items()}


def expected(plan: DeltaPlan, data: Data, changing: bool) -> Mapping[int, tuple[float, float]]:
    parents, children = data.parents / 2, data.children / 2
    of = data.parents if data is MANY else 0.7 * parents  # of those that have come, some have children
    statistics = Statistics(
        {
            INTEGERS.name: TableStatistics(parents, {1: ColumnStatistics(parents)}),
            FILLED.name: TableStatistics(
                children,
                {1: ColumnStatistics(of), 2: ColumnStatistics(data.sizes, least=0.0, greatest=data.sizes)},
            ),
        }
    )
    updates = float(data.moved * FIRINGS) if changing else 0.0
    coming = {INTEGERS.name: Arrivals(parents), FILLED.name: Arrivals(children, updates)}
    period = simulated(plan, statistics, coming, only())
    outcome = period.simulate((FIRINGS,) * len(period.paths))
    found = {}
    for subplan, worked in zip(plan.subplans, outcome.subplans, strict=True):
        changes = worked.written.changes
        inserts, replacements, deletes = changes.inserts[-1], changes.replacements[-1], changes.deletes[-1]
        found[subplan.writes] = (inserts + replacements, deletes + replacements)
    return found


@pytest.mark.parametrize(
    ("data", "changing"),
    [(MANY, False), (MANY, True), (FEW, False)],
    ids=["many come", "many move", "few come"],
)
@pytest.mark.parametrize("name", PLANS)
def test_estimates_are_near(name: str, data: Data, changing: bool) -> None:
    plan = PLANS[name]
    query = LogicalQuery(plan, tuple(Output(field.name, field.column) for field in fields(plan)))
    delta = derive(query, tables=TABLES)
    actual, estimated = seen(delta, data, changing), expected(delta, data, changing)
    for writes, (positive, negative) in actual.items():
        assert is_near(estimated[writes][0], positive, changing), delta.buffers[writes]
        assert is_near(estimated[writes][1], negative, changing), delta.buffers[writes]


def is_near(estimated: float, actual: float, changing: bool) -> bool:
    factor = WITHIN[changing]
    return bool(abs(estimated - actual) <= SLACK or actual / factor <= estimated <= actual * factor)
