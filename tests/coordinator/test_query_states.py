"""The states of a query as the engine names them, which tables are complete, and what a query may keep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf
from uuid import UUID, uuid4

import pytest

from catalog.capture.arrivals import HourOfTable, KnownArrivals
from catalog.postgres.schema import TableName
from catalog.queries.arrangements import ArrangementRow
from coordinator.firing.memory_shares import MemoryShares
from coordinator.firing.work import Work
from coordinator.planning.query_states import (
    COMPLETE_AFTER,
    budget_of,
    complete_tables,
    decided_states,
    measured_states,
    state_budget,
)
from planner.firing.states import states_of
from planner.pace.choose import simulated
from planner.state.choose import options
from planner.state.divide import Wish
from planner.state.frontier import Frontier, Point
from tests.planner.test_delta_plans import planned
from tests.support.planning.states import costs
from tests.support.planning.tpch_statistics import arrivals, statistics

NOW = datetime(2026, 11, 20, tzinfo=UTC)
LONG = COMPLETE_AFTER + timedelta(days=1)
A, B = TableName("public", "a"), TableName("public", "b")
TABLES = {A: 1, B: 2}


@pytest.mark.parametrize(
    ("text", "bytes_"), [(None, inf), ("unlimited", inf), ("0", 0), ("64MB", 64 << 20), ("3000B", 3000)]
)
def test_the_budget_of_a_query(text: str | None, bytes_: float) -> None:
    assert budget_of({} if text is None else {"MEMORY_BUDGET": text}) == bytes_


def known(since: timedelta, **hours: timedelta) -> KnownArrivals:
    """Rows that came so long ago to tables, all of which are known since so long ago."""
    came = [HourOfTable(TABLES[TableName("public", name)], NOW - ago, 5, 0, 0) for name, ago in hours.items()]
    return KnownArrivals(came, (), NOW - since, NOW)


@pytest.mark.parametrize(
    ("arrived", "complete"),
    [
        (known(LONG, a=timedelta(hours=1)), {B}),
        (known(LONG, a=timedelta(hours=1), b=LONG), {B}),
        (known(LONG, a=timedelta(hours=1), b=timedelta(days=2)), set()),
        (known(timedelta(days=1), a=timedelta(hours=1)), set()),
        (known(LONG), set()),
    ],
    ids=["nothing came", "nothing came for long", "it came lately", "not known for long", "to no table"],
)
def test_tables_to_which_nothing_comes_for_long_are_complete(
    arrived: KnownArrivals, complete: set[TableName]
) -> None:
    assert complete_tables(TABLES, {}, arrived) == complete


def test_a_table_is_complete_if_its_owner_says_so() -> None:
    nothing = KnownArrivals((), (), None, NOW)
    assert complete_tables(TABLES, {"EXPECT": "a 0, b 5"}, nothing) == {A}
    assert complete_tables(TABLES, {"EXPECT": "a 3"}, nothing) == set()


def work_of(query: UUID) -> Work:
    plan = planned("q03").delta
    tables = {buffer.number: 10 + buffer.number for buffer in plan.buffers if hasattr(buffer, "table")}
    return Work(query, plan, {}, tables)


def row(buffer: str, key: list[str], kept: bool, size: int) -> ArrangementRow:
    return ArrangementRow(buffer, key, key, kept, "", 7, size, 1, 1, None, 0, None)


def test_states_are_called_as_the_engine_calls_them() -> None:
    work = work_of(uuid4())
    state, uses = next(iter(states_of(work.plan).items()))
    [(buffer, columns)] = list(uses.lookups)[:1]
    name = work.name(buffer), frozenset(work.columns(buffer)[column] for column in columns)
    rows = [row(name[0], sorted(name[1]), True, 40), row("table-99", ["a1"], True, 3)]
    every = states_of(work.plan)
    assert measured_states(work, every, rows) == {state: 40}
    assert measured_states(work, every, [row(name[0], sorted(name[1]), False, 0)]) == {state: 7}
    assert measured_states(work, (), rows) == {}


def test_what_is_dropped_is_told_to_the_engine_and_what_is_decided_to_the_catalog() -> None:
    work = work_of(uuid4())
    simulation = simulated(work.plan, statistics(), arrivals(0.001), costs(work.plan))
    every = options(simulation, (1,) * len(simulation.paths), {})
    whole, nothing = every.within(inf), every.within(0)
    assert state_budget(work, nothing).most_bytes == 0
    assert state_budget(work, nothing).query == str(work.query)
    dropped = {(state.buffer, frozenset(state.key)) for state in decided_states(work, nothing)}
    assert state_budget(work, nothing).dropped == dropped
    kept = {(state.buffer, frozenset(state.key)) for state in decided_states(work, whole) if state.kept}
    assert kept
    assert not state_budget(work, whole).dropped & kept


def test_what_is_granted_shrinks_when_others_want_more() -> None:
    shares, one, other = MemoryShares(), uuid4(), uuid4()
    little = Wish(Frontier((Point(0, 5.0), Point(60, 4.0))), inf)
    much = Wish(Frontier((Point(0, 50.0), Point(80, 4.0))), inf)
    assert shares.granted(one, little, 100) == 100
    assert shares.granted(other, much, 100) == 80
    assert shares.granted(one, little, 100) == 0
    shares.forget([other])
    assert shares.granted(one, little, 100) == 100
    assert shares.granted(one, Wish(little.frontier, 30), 100) == 30
