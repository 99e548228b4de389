"""What follows from a small change goes to the state, and not the other way round."""

from __future__ import annotations

import pytest

from catalog.postgres.storage import Plain
from catalog.postgres.types import INT4, SqlType
from executors.rows import Schema
from executors.spark.compile.subplan import compile_subplan
from planner.algebra.conditions import TRUE
from planner.algebra.logical import Field
from planner.delta.weighted import (
    KeySemiJoin,
    Moment,
    Pairs,
    Read,
    SemiJoin,
    Step,
    StepRef,
    Subplan,
    Sum,
    Weighted,
)
from planner.firing.driven import is_driven

KEY, OTHER = Field(1, "x", SqlType(INT4)), Field(2, "y", SqlType(INT4))
CHANGE, STATE = Read(0, Moment.CHANGE, (KEY,)), Read(1, Moment.BEFORE, (OTHER,))
SCHEMAS: dict[int, Schema] = {0: {1: Plain.INT32}, 1: {2: Plain.INT32}, 2: {1: Plain.INT32, 2: Plain.INT32}}


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (CHANGE, True),
        (STATE, False),
        (Read(1, Moment.AFTER, (OTHER,)), False),
        (Pairs(STATE, CHANGE, TRUE), True),
        (KeySemiJoin(STATE, CHANGE, ()), True),
        (SemiJoin(STATE, CHANGE, TRUE, negated=False), True),
        (SemiJoin(STATE, CHANGE, TRUE, negated=True), False),
        (Sum((STATE, CHANGE), (KEY,)), False),
        (StepRef(0, (KEY,)), True),
        (StepRef(1, (KEY,)), False),
    ],
)
def test_what_is_as_large_as_what_changed(outcome: Weighted, expected: bool) -> None:
    assert is_driven(outcome, {0: True, 1: False}) is expected


@pytest.mark.parametrize(
    ("outcome", "alias"), [(Pairs(CHANGE, STATE, TRUE), "l"), (Pairs(STATE, CHANGE, TRUE), "r")]
)
def test_a_small_change_is_broadcast_and_a_large_one_is_not(outcome: Weighted, alias: str) -> None:
    columns = {1: Plain.INT32, 2: Plain.INT32} if alias == "l" else {2: Plain.INT32, 1: Plain.INT32}
    subplan = Subplan(2, (0, 1), (Step(0, "join", outcome),), "linear")
    hinted = compile_subplan(subplan, SCHEMAS | {2: columns}, small_change=True)
    plain = compile_subplan(subplan, SCHEMAS | {2: columns})
    hint = f"/*+ BROADCAST({alias}) */ "
    assert hint in hinted.sql
    assert hinted.sql.replace(hint, "") == plain.sql == hinted.cautious
    assert plain.cautious is None


def test_where_both_sides_changed_nothing_is_said() -> None:
    subplan = Subplan(
        2, (0,), (Step(0, "join", Pairs(CHANGE, Read(1, Moment.CHANGE, (OTHER,)), TRUE)),), "linear"
    )
    assert compile_subplan(subplan, SCHEMAS, small_change=True) == compile_subplan(subplan, SCHEMAS)
