"""A query twice as large takes about twice the work: calls are counted, the same number on any machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import pytest

from catalog.errors import StatementTooComplex
from dialect.bound.query import Query
from executors.spark.compile.subplan import compile_subplan, schemas_of
from planner.algebra.statistics import Statistics
from planner.delta.weighted import DeltaPlan, Pairs, TableBuffer
from planner.delta.weighted_tree import within
from planner.pace.choose import MOST_EFFORT, scheduled, simulated
from planner.pace.knobs import knobs_of
from planner.pace.schedule import Arrivals, Goal
from planner.plan import plan
from tests.support.binding.cases import Snapshot, read_snapshot
from tests.support.planning.large_queries import SHAPES, TABLES, TOO_LARGE
from tests.support.planning.schedules import only

MOST: Final = 3.7
"""Work of twice the size over that of the size: 4 would be quadratic."""


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read_snapshot()


def calls(work: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    count = 0

    def observe(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(observe)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def planned(query: Query) -> DeltaPlan:
    """The plan, each part of it written for Spark."""
    delta = plan(query, TABLES, Statistics()).delta
    schemas = schemas_of(delta)
    for subplan in delta.subplans:
        compile_subplan(subplan, schemas)
    return delta


@pytest.mark.parametrize("name", SHAPES)
def test_twice_the_size_is_not_four_times_the_work(name: str, snapshot: Snapshot) -> None:
    shape = SHAPES[name]

    def work(size: int) -> int:
        return calls(lambda: planned(shape.bound(size, snapshot.signatures)))

    work(2)  # what is remembered of the signatures is worked out once
    small, large = work(shape.size), work(2 * shape.size)
    assert large <= MOST * small, f"{small} calls for {shape.size}, {large} for twice that"


def test_what_a_firing_joins_grows_like_the_query(snapshot: Snapshot) -> None:
    shape = SHAPES["chain of joins"]

    def joins(size: int) -> int:
        [subplan] = planned(shape.bound(size, snapshot.signatures)).subplans
        outcomes = (node for step in subplan.steps for node in within(step.outcome))
        return sum(isinstance(outcome, Pairs) for outcome in outcomes)

    assert [joins(size) for size in (8, 16, 32, 64)] == [56, 112 + 16, 2 * 128 + 32, 2 * 288 + 64]


@pytest.mark.parametrize("name", SHAPES)
def test_paces_are_chosen_with_no_more_effort_the_larger_a_query_is(name: str, snapshot: Snapshot) -> None:
    """Where a knob for each path takes too much, one is turned: it does as well for joins of many tables."""
    shape = SHAPES[name]
    delta = plan(shape.bound(max(50, shape.size), snapshot.signatures), TABLES, Statistics()).delta
    arrivals = {buffer.table: Arrivals(1000.0) for buffer in delta.buffers if isinstance(buffer, TableBuffer)}
    period = simulated(delta, Statistics(), arrivals, only())
    goal = Goal(0.3, 100)
    chosen = scheduled(period, goal, knobs_of(goal.paces, period))
    whole_plan = sum(period.operators)
    assert period.effort <= 2 * (MOST_EFFORT + whole_plan)
    assert chosen.total_work <= goal.max_cost * chosen.batch_work
    if name in ("star", "a table joined with itself"):
        assert chosen.final_work <= goal.final_work * chosen.batch_work


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_would_grow_without_end_is_refused_early(name: str, snapshot: Snapshot) -> None:
    shape = TOO_LARGE[name]
    query = shape.bound(shape.size, snapshot.signatures)
    with pytest.raises(StatementTooComplex, match="depend on each other") as caught:
        calls(lambda: plan(query, TABLES, Statistics()))
    assert caught.value.hint is not None
