"""Look-ups in place of scans: the same rows, whatever the plan, and no scan where a key is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from catalog.postgres.types import INT4, SqlType
from dialect.expressions.scalar import Scalar
from executors.reference.firing import Changes, consolidated
from executors.reference.values.values import Value
from executors.reference.weighted import evaluate_weighted
from planner.algebra.columns import refer
from planner.algebra.conditions import TRUE
from planner.algebra.equality import equal
from planner.algebra.logical import Field, LogicalQuery
from planner.delta.derive import derive
from planner.delta.methods import Method
from planner.delta.weighted import (
    DeltaFilter,
    First,
    Moment,
    Pairs,
    PartialAggregate,
    Read,
    SemiJoin,
    Step,
    Subplan,
    Tallied,
    Tally,
    Weighted,
    fields,
)
from planner.explain.look_ups_text import look_ups_text
from planner.firing.specialise import specialise
from planner.firing.stepwise import Key, LookUp, Steps, check_steps, stepwise
from tests.planner.test_delta_plans import planned
from tests.support.planning.random_plans import commits, queries
from tests.support.planning.replay import Firing, Replay

INTEGER = SqlType(INT4)
METHODS = [(Method.LINEAR, Method.COMBINE, Method.RECOMPUTE), (Method.RECOMPUTE,)]


class SteppingReplay(Replay):
    """A replay in which each firing is also computed step by step, to the same rows."""

    def fire(self, subplan: Subplan, to: Mapping[int, int] | None = None) -> Changes:
        written = len(self.logs[subplan.writes].batches)
        ranges = {
            buffer: (self.read[subplan.writes, buffer], len(self.logs[buffer].batches))
            for buffer in subplan.reads
        }
        firing = Firing(self.logs, ranges | {subplan.writes: (written, written)})
        stepped = rows_of(stepwise(specialise(subplan, firing.facts)), firing)
        outcome = super().fire(subplan, to)
        assert dict(consolidated(stepped)) == dict(consolidated(outcome)), subplan
        return outcome


def rows_of(steps: Steps, firing: Firing) -> Changes:
    """The rows of the last step; a look-up finds the rows with its keys, and no others."""
    columns: dict[int, list[int]] = {}
    for step in steps:
        if not isinstance(step, LookUp):
            firing.steps[step.number] = evaluate_weighted(step.outcome, firing)
            columns[step.number] = [field.column for field in fields(step.outcome)]
            continue
        columns[step.number] = [field.column for field in step.fields]
        own = [columns[step.number].index(key.column) for key in step.keys]
        theirs = [columns[step.of].index(key.of) for key in step.keys]
        wanted: set[tuple[Value, ...]] = {
            tuple(row[place] for place in theirs) for row, _ in firing.steps[step.of]
        }
        content = firing.read(step.buffer, step.moment, step.fields)
        firing.steps[step.number] = [
            (row, weight) for row, weight in content if tuple(row[place] for place in own) in wanted
        ]
    return firing.steps[steps[-1].number]


@settings(max_examples=150, deadline=None)
@given(query=queries(), changes=commits(2), methods=st.sampled_from(METHODS))
def test_what_is_looked_up_is_enough(
    query: LogicalQuery, changes: list[dict[TableName, Changes]], methods: tuple[Method, ...]
) -> None:
    replay = SteppingReplay(derive(query, methods))
    replay.fire_all()
    for commit in changes:
        replay.commit(commit)
        replay.fire_all()


def test_joins_and_groups_scan_nothing() -> None:
    assert look_ups_text(planned("q13").delta) == (
        "aggregate 2: tpch.customer by c_custkey, tpch.orders by o_custkey, its own rows by c_custkey\n"
        "aggregate 3: its own rows by count\n"
        "result 4: nothing but changes\n"
    )


def test_what_has_no_key_is_scanned() -> None:
    lines = look_ups_text(planned("q17").delta).splitlines()
    assert lines[1] == (
        "aggregate 4: tpch.part by p_partkey, aggregate 3 by l_partkey, tpch.lineitem by l_partkey, "
        "all of its own rows"
    )


KEY, OTHER, THIRD = (Field(number, name, INTEGER) for number, name in ((1, "x"), (2, "y"), (3, "z")))
CHANGE, CONTENT = Read(0, Moment.CHANGE, (KEY,)), Read(1, Moment.BEFORE, (OTHER, THIRD))
COUNTED = PartialAggregate(CONTENT, (OTHER,), (Tallied(THIRD, Tally.WEIGHT, None),))


def meets(column: Field, other: Field = KEY) -> Scalar:
    condition = equal(refer(other), refer(column))
    assert condition is not None
    return condition


@pytest.mark.parametrize(
    ("outcome", "keys"),
    [
        (Pairs(CHANGE, CONTENT, meets(OTHER)), [(2, 1)]),
        (Pairs(CONTENT, CHANGE, meets(OTHER)), [(2, 1)]),
        (Pairs(CHANGE, CONTENT, TRUE), []),
        (Pairs(CHANGE, DeltaFilter(CONTENT, meets(THIRD, OTHER)), meets(OTHER)), [(2, 1)]),
        (SemiJoin(CONTENT, CHANGE, meets(OTHER), negated=False), [(2, 1)]),
        (SemiJoin(CHANGE, CONTENT, meets(OTHER), negated=True), [(2, 1)]),
        (SemiJoin(CONTENT, CHANGE, meets(OTHER), negated=True), []),
        (Pairs(CHANGE, COUNTED, meets(OTHER)), [(2, 1)]),
        (Pairs(CHANGE, COUNTED, meets(THIRD)), []),
        (Pairs(CHANGE, First(CONTENT, (), 1, 0), meets(OTHER)), []),
    ],
)
def test_a_key_goes_as_far_down_as_rows_with_other_keys_change_nothing(
    outcome: Weighted, keys: list[tuple[int, int]]
) -> None:
    steps = stepwise(Subplan(2, (0, 1), (Step(0, "join", outcome),), ""))
    looked_up = [step for step in steps if isinstance(step, LookUp)]
    assert [(key.column, key.of) for step in looked_up for key in step.keys] == keys


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda look_up: replace(look_up, of=99), id="keys of no step"),
        pytest.param(lambda look_up: replace(look_up, buffer=99), id="a buffer that is not read"),
        pytest.param(lambda look_up: replace(look_up, keys=(Key(99, look_up.keys[0].of),)), id="no column"),
        pytest.param(lambda look_up: replace(look_up, keys=(Key(look_up.keys[0].column, 99),)), id="no key"),
    ],
)
def test_steps_are_checked(broken: Callable[[LookUp], LookUp]) -> None:
    for subplan in planned("q13").delta.subplans:
        steps = stepwise(subplan)
        check_steps(subplan, steps)
        for step in steps:
            if isinstance(step, LookUp):
                with pytest.raises(AssertionError):
                    check_steps(subplan, [broken(step) if other is step else other for other in steps])
