"""The definitions of the operators, on cases small enough to be done by hand."""

from __future__ import annotations

from collections import Counter

from catalog.postgres.schema import TableName
from catalog.postgres.types import BOOLEAN, INT4, INT8, SqlType
from dialect.expressions.scalar import Call, Constant, IsNull, Notation, Or, Reference, Scalar
from executors.reference.evaluate import evaluate
from executors.reference.values.values import Bag
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Aggregated,
    DependentJoin,
    Field,
    Filter,
    Join,
    JoinKind,
    Plan,
    Scan,
    TableColumn,
)
from planner.delta.weighted import (
    DeltaPlan,
    Moment,
    NodeBuffer,
    PartialAggregate,
    Read,
    Step,
    Subplan,
    Sum,
    TableBuffer,
    Tallied,
    Tally,
)
from tests.support.planning.replay import Replay

INT = SqlType(INT4)
LEFT, RIGHT = TableName("public", "l"), TableName("public", "r")
A, B, C = Field(1, "a", INT), Field(2, "b", INT), Field(3, "c", INT)
TABLES: dict[TableName, Bag] = {
    LEFT: Counter({(1, 10): 2, (None, 5): 1, (3, 30): 1}),
    RIGHT: Counter({(1,): 3, (None,): 1, (4,): 1}),
}
L = Scan(LEFT, "l", (TableColumn(A, 1), TableColumn(B, 2)))
R = Scan(RIGHT, "r", (TableColumn(C, 1),))


def call(function: int, name: str, left: Scalar, right: Scalar) -> Call:
    return Call(function, name, Notation.OPERATOR, (left, right), 0, BOOLEAN)


SAME = call(65, "=", Reference(1, INT), Reference(3, INT))
COUNT = AggregateCall(2803, "count", (), SqlType(INT8))


def joined(kind: JoinKind) -> Bag:
    return evaluate(Join(kind, L, R, SAME), TABLES)


def test_joins() -> None:
    pairs = Counter({(1, 10, 1): 6})
    left = Counter({(None, 5, None): 1, (3, 30, None): 1})
    right = Counter({(None, None, None): 1, (None, None, 4): 1})
    assert joined(JoinKind.INNER) == pairs
    assert joined(JoinKind.LEFT) == pairs + left
    assert joined(JoinKind.RIGHT) == pairs + right
    assert joined(JoinKind.FULL) == pairs + left + right
    assert joined(JoinKind.SEMI) == Counter({(1, 10): 2})
    assert joined(JoinKind.ANTI) == Counter({(None, 5): 1, (3, 30): 1})


def test_a_dependent_join_sees_the_row_on_its_left() -> None:
    inside: Plan = Filter(R, Or((SAME, IsNull(Reference(1, INT)))))
    counted = Aggregate(inside, (), (Aggregated(Field(4, "n", SqlType(INT8)), COUNT),))
    rows = evaluate(DependentJoin(JoinKind.LEFT, L, counted, Constant("t", BOOLEAN)), TABLES)
    assert rows == Counter({(1, 10, 3): 2, (None, 5, 5): 1, (3, 30, 0): 1})


def test_groups() -> None:
    nulls = Aggregate(R, (C,), (Aggregated(Field(4, "n", SqlType(INT8)), COUNT),))
    assert evaluate(nulls, TABLES) == Counter({(1, 3): 1, (None, 1): 1, (4, 1): 1})
    nothing = Aggregate(Filter(R, Constant("f", BOOLEAN)), (), nulls.columns)
    assert evaluate(nothing, TABLES) == Counter({(0,): 1})


def test_a_replay_keeps_what_each_subplan_has_read() -> None:
    total = Field(5, "total", SqlType(INT8))
    tallies = (Tallied(total, Tally.SUM, Reference(1, INT)),)
    change, state = Read(0, Moment.CHANGE, (A,)), Read(1, Moment.BEFORE, (total,))
    plan = DeltaPlan(
        (TableBuffer(0, LEFT, (A,), (2,)), NodeBuffer(1, "log of totals", (total,))),
        (
            Subplan(
                1,
                (0,),
                (Step(0, "all", Sum((state, PartialAggregate(change, (), tallies)), (total,))),),
                "linear",
            ),
        ),
    )
    replay = Replay(plan)
    replay.commit({LEFT: [((1, 10), 2), ((1, 5), -1)]})
    replay.commit({LEFT: [((1, 7), 1)]})
    assert replay.fire(plan.subplans[0], {0: 1}) == [((15,), 1)]
    replay.fire_all()
    assert replay.answer == [((15,), 2), ((7,), 1)]
