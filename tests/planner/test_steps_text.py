"""The steps that EXPLAIN shows: those that run, in their order, and each refers to earlier ones alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.algebra.logical import LogicalQuery
from planner.delta.derive import derive
from planner.delta.methods import Method
from planner.delta.weighted import DeltaPlan
from planner.explain.steps_text import steps_text, steps_values
from planner.firing.stepwise import LookUp, stepwise
from tests.planner.test_delta_plans import planned
from tests.support.planning.cases import FOLDER
from tests.support.planning.random_plans import queries
from tests.support.recording import assert_as_recorded

RECORDED = FOLDER / "steps"


@pytest.mark.parametrize("name", ["q01", "q03", "q13", "q18", "q20"])
def test_the_steps_are_as_recorded(name: str) -> None:
    assert_as_recorded(RECORDED / f"{name}.steps", steps_text(planned(name).delta))


@settings(max_examples=100, deadline=None)
@given(query=queries(), methods=st.sampled_from([(), (Method.RECOMPUTE,)]))
def test_every_step_is_shown_and_refers_to_earlier_ones(
    query: LogicalQuery, methods: tuple[Method, ...]
) -> None:
    check(derive(query, methods) if methods else derive(query))


def test_those_of_large_queries_too() -> None:
    for number in range(1, 23):
        check(planned(f"q{number:02}").delta)


def check(plan: DeltaPlan) -> None:
    parts = steps_values(plan)
    assert len(parts) == len(plan.subplans)
    for subplan, lines in zip(plan.subplans, parts.values(), strict=True):
        steps = stepwise(subplan)
        beginnings = [line for line in lines if not line.startswith(" ")]
        assert [line.split(".")[0] for line in beginnings] == [str(place + 1) for place in range(len(steps))]
        looked_up = [". look up " in line for line in beginnings]
        assert looked_up == [isinstance(step, LookUp) for step in steps]
        place = 0
        for line in lines:
            place += not line.startswith(" ")
            assert all(int(step) < place for step in re.findall(r"\bstep (\d+)", line)), line
