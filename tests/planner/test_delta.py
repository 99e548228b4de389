"""Delta plans against the definition: whatever comes, in whatever portions, the answer is right."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from executors.reference.evaluate import evaluate
from executors.reference.firing import Changes
from executors.reference.values.values import Bag
from planner.algebra.columns import refer
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Aggregated,
    Distinct,
    Field,
    LogicalQuery,
    Output,
    Project,
    Scan,
)
from planner.delta.derive import derive
from planner.delta.methods import Method
from planner.delta.weighted import DeltaPlan, NodeBuffer
from tests.support.planning.random_plans import (
    FLOAT,
    FLOATS,
    TABLES,
    aggregates,
    columns_of,
    commits,
    queries,
)
from tests.support.planning.replay import Replay

METHODS = [
    (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE),
    (Method.COMBINE, Method.RECOMPUTE),
    (Method.RECOMPUTE,),
]


@pytest.mark.parametrize("methods", METHODS, ids=lambda methods: methods[0].value)
@settings(max_examples=120)
@given(query=queries(), changes=commits(), store_joins=st.booleans())
def test_the_answer_follows_every_commit(
    methods: tuple[Method, ...],
    query: LogicalQuery,
    changes: list[dict[TableName, Changes]],
    store_joins: bool,
) -> None:
    follow(derive(query, methods, TABLES, store_joins), query, changes)


@settings(max_examples=250)
@given(
    query=queries(),
    changes=commits(),
    methods=st.sampled_from(METHODS),
    store_joins=st.booleans(),
    data=st.data(),
)
def test_inputs_advance_apart(
    query: LogicalQuery,
    changes: list[dict[TableName, Changes]],
    methods: tuple[Method, ...],
    store_joins: bool,
    data: st.DataObject,
) -> None:
    replay = Replay(derive(query, methods, TABLES, store_joins))
    contents: dict[TableName, Bag] = {name: Counter() for name in TABLES}
    replay.fire_all()
    for commit in changes:
        apply(contents, commit)
        replay.commit(commit)
        for subplan in replay.plan.subplans:
            if data.draw(st.booleans()):
                read = {buffer: replay.read[subplan.writes, buffer] for buffer in subplan.reads}
                ends = {buffer: len(replay.logs[buffer].batches) for buffer in subplan.reads}
                replay.fire(
                    subplan, {buffer: data.draw(st.integers(read[buffer], ends[buffer])) for buffer in read}
                )
        for buffer in replay.plan.buffers:
            if isinstance(buffer, NodeBuffer):
                assert all(weight > 0 for _, weight in replay.content(buffer.number))
    replay.fire_all()
    assert Counter(dict(replay.answer)) == evaluate(query, contents)


@pytest.mark.parametrize("methods", METHODS, ids=lambda methods: methods[0].value)
@settings(max_examples=120)
@given(query=aggregates(), changes=commits(most=6))
def test_a_group_is_followed_until_it_is_gone(
    methods: tuple[Method, ...], query: LogicalQuery, changes: list[dict[TableName, Changes]]
) -> None:
    follow(derive(query, methods, TABLES), query, changes)


def test_sums_of_floats_do_not_drift() -> None:
    scan = Scan(FLOATS.name, "t", columns_of(FLOATS))
    total = AggregateCall(2111, "sum", (refer(scan.columns[1].field),), FLOAT)
    plan = Aggregate(scan, (scan.columns[0].field,), (Aggregated(Field(3, "sum", FLOAT), total),))
    rows: list[Changes] = [[((1, 1e16), 1), ((1, 1.0), 1)], [((1, 1e16), -1)]]
    query = LogicalQuery(plan, (Output("sum", 3),))
    follow(derive(query), query, [{FLOATS.name: row} for row in rows])


def test_different_rows_without_columns_are_one_or_none() -> None:
    plan = Distinct(Project(Scan(FLOATS.name, "t", columns_of(FLOATS)), ()))
    rows: list[Changes] = [[((1, 0.5), 1), ((2, 0.5), 1)], [((1, 0.5), -1)], [((2, 0.5), -1)]]
    query = LogicalQuery(plan, ())
    follow(derive(query), query, [{FLOATS.name: row} for row in rows])


def apply(contents: dict[TableName, Bag], commit: dict[TableName, Changes]) -> None:
    """The tables after the commit."""
    for name, changes in commit.items():
        contents[name] = Counter(contents[name])
        for row, weight in changes:
            contents[name][row] += weight
        contents[name] = +contents[name]


def follow(plan: DeltaPlan, query: LogicalQuery, changes: list[dict[TableName, Changes]]) -> None:
    """After every commit the answer is the query's by definition."""
    replay = Replay(plan)
    contents: dict[TableName, Bag] = {name: Counter() for name in TABLES}
    replay.fire_all()
    assert Counter(dict(replay.answer)) == evaluate(query, contents)
    for commit in changes:
        apply(contents, commit)
        replay.commit(commit)
        replay.fire_all()
        assert Counter(dict(replay.answer)) == evaluate(query, contents)
