"""A delta plan that breaks what holds of delta plans is not let through."""

from __future__ import annotations

import pytest

from catalog.postgres.schema import TableName
from catalog.postgres.types import BOOL, INT4, INT8, SqlType
from dialect.expressions.scalar import Constant, Reference
from planner.algebra.logical import Computed, Field
from planner.delta.check import check_delta, check_subplan
from planner.delta.weighted import (
    Consolidate,
    DeltaFilter,
    DeltaPlan,
    DeltaProject,
    KeySemiJoin,
    Moment,
    NodeBuffer,
    Read,
    Rows,
    Step,
    StepRef,
    Subplan,
    Sum,
    TableBuffer,
    Weighted,
)

FLAG, NUMBER, LONG = (
    Field(number, name, SqlType(type_))
    for number, name, type_ in ((1, "flag", BOOL), (2, "n", INT4), (3, "l", INT8))
)
CHANGE = Read(0, Moment.CHANGE, (FLAG, NUMBER))
TABLE = TableBuffer(0, TableName("s", "t"), (FLAG, NUMBER), (1, 2))
NODE = NodeBuffer(1, "result", (FLAG, NUMBER))


def subplan(*outcomes: Weighted, writes: int = 1) -> Subplan:
    steps = tuple(Step(number, "", outcome) for number, outcome in enumerate(outcomes))
    return Subplan(writes, (0,), steps, "linear")


def read(field: Field) -> Reference:
    return Reference(field.column, field.type)


def test_a_sound_plan_passes() -> None:
    filtered = DeltaFilter(StepRef(0, (FLAG, NUMBER)), read(FLAG))
    check_delta(DeltaPlan((TABLE, NODE), (subplan(CHANGE, Consolidate(filtered)),)))
    check_subplan(subplan(KeySemiJoin(CHANGE, CHANGE, (NUMBER,))))


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Read(7, Moment.CHANGE, (FLAG,)), "read and not declared"),
        (Read(1, Moment.CHANGE, (FLAG,)), "read and not declared"),
        (StepRef(5, (FLAG,)), "used before it is there"),
        (DeltaFilter(CHANGE, read(NUMBER)), "no boolean"),
        (DeltaFilter(DeltaProject(CHANGE, (Computed(NUMBER, read(NUMBER)),)), read(FLAG)), "where it is not"),
        (DeltaProject(CHANGE, (Computed(LONG, read(LONG)),)), "where it is not"),
        (DeltaProject(CHANGE, (Computed(LONG, Reference(2, LONG.type)),)), "another type"),
        (Sum((CHANGE, DeltaProject(CHANGE, (Computed(FLAG, read(FLAG)),))), (FLAG, NUMBER)), "sum differ"),
        (KeySemiJoin(CHANGE, CHANGE, (LONG,)), "not among the rows"),
        (Rows(((Constant(None, FLAG.type),),), (FLAG, NUMBER)), "other columns"),
    ],
)
def test_a_subplan_that_is_not_sound_is_stopped(outcome: Weighted, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_subplan(subplan(outcome))


def test_the_order_of_subplans_is_looked_at() -> None:
    upper = Subplan(2, (1,), (Step(0, "", Read(1, Moment.CHANGE, (FLAG, NUMBER))),), "linear")
    buffers = (TABLE, NODE, NodeBuffer(2, "result", (FLAG, NUMBER)))
    check_delta(DeltaPlan(buffers, (subplan(CHANGE), upper)))
    with pytest.raises(AssertionError, match="written later"):
        check_delta(DeltaPlan(buffers, (upper, subplan(CHANGE))))
    with pytest.raises(AssertionError, match="written twice"):
        check_delta(DeltaPlan((TABLE, NODE), (subplan(CHANGE), subplan(CHANGE))))
    with pytest.raises(AssertionError, match="missing"):
        narrow = DeltaProject(CHANGE, (Computed(FLAG, read(FLAG)),))
        check_delta(DeltaPlan((TABLE, NODE), (subplan(narrow),)))
