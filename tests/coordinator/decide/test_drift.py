"""Periods that go another way than expected: when that is noticed, and what becomes of marks then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from coordinator.decide.drift import (
    Worked,
    arrivals_have_drifted,
    expected_rows,
    has_read_most,
    rows_were_misjudged,
)
from coordinator.decide.pacing import Paced, due, outgrown
from coordinator.planning.period_estimate import PeriodEstimate, at_the_beginning
from planner.algebra.logical import LogicalQuery
from planner.algebra.statistics import Statistics, TableStatistics
from planner.delta.derive import derive
from planner.delta.weighted import TableBuffer
from planner.pace.choose import scheduled, simulated
from planner.pace.knobs import path_knobs
from planner.pace.paths import Path
from planner.pace.schedule import Arrivals, Goal
from tests.support.planning.random_plans import TABLES, queries
from tests.support.planning.schedules import only

ONE = Path(9, 1)
ORDERS, LINES = 501, 502


@pytest.mark.parametrize(
    ("arrived", "coming", "stated", "before", "expected"),
    [
        # What came, and what is to come.
        (0, 1000.0, None, 0.0, 1000),
        (400, 100.0, None, 1000.0, 500),
        (4000, 100.0, None, 1000.0, 4100),
        # The owner's word stands until more has come, a quarter more.
        (0, 5000.0, 1000.0, 0.0, 1000),
        (1250, 5000.0, 1000.0, 1000.0, 1000),
        (1251, 5000.0, 1000.0, 1000.0, 6251),
        (1251, None, 1000.0, 1000.0, 2000),
        (1, 9.0, 0.0, 0.0, 10),
        # Where nobody knows what is to come, what was expected stands until it is outgrown.
        (400, None, None, 1000.0, 1000),
        (4000, None, None, 1000.0, 4000),
        (5001, None, None, 1000.0, 8000),
        (5001, None, None, 0.0, 0),
    ],
)
def test_rows_of_a_whole_period(
    arrived: int, coming: float | None, stated: float | None, before: float, expected: float
) -> None:
    assert expected_rows(arrived, coming, stated, before) == expected


@pytest.mark.parametrize(
    ("chosen", "now", "is_off"),
    [
        (1000.0, 1500.0, False),
        (1000.0, 1501.0, True),
        (1500.0, 1000.0, False),
        (1501.0, 1000.0, True),
        (0.0, 99.0, False),
        (0.0, 100.0, True),
        (100.0, 0.0, True),
        (10.0, 40.0, False),
        (0.0, 0.0, False),
    ],
)
def test_a_burst_and_a_drought_are_astray(chosen: float, now: float, is_off: bool) -> None:
    assert arrivals_have_drifted({ORDERS: 10.0, LINES: chosen}, {ORDERS: 10.0, LINES: now}) == is_off
    assert arrivals_have_drifted({LINES: chosen}, {ORDERS: 10.0, LINES: now}) == is_off


@pytest.mark.parametrize(
    ("written", "believed", "is_off"),
    [
        (2000, 1000.0, False),
        (2001, 1000.0, True),
        (1000, 2001.0, True),
        (0, 1000.0, True),
        (999, 10.0, False),
        (1000, 0.0, True),
        (0, 0.0, False),
    ],
)
def test_subplans_are_misjudged_by_a_factor_of_two(written: int, believed: float, is_off: bool) -> None:
    assert rows_were_misjudged(written, believed) == is_off


def test_a_path_that_lags_tells_nothing() -> None:
    assert has_read_most(0, 0)
    assert has_read_most(80, 100)
    assert not has_read_most(79, 100)


def test_a_period_is_played_from_its_beginning() -> None:
    orders, lines = TableName("public", "orders"), TableName("public", "lines")
    now = Statistics({orders: TableStatistics(1000.0), lines: TableStatistics(10.0)})
    before = at_the_beginning(now, {orders: Arrivals(300, 500, 100), lines: Arrivals(50)})
    assert before.tables == {orders: TableStatistics(800.0), lines: TableStatistics(1.0)}


COUNTS = st.sampled_from((1, 7, 1000, 10**5))


@settings(max_examples=40)
@given(query=queries(), data=st.data())
def test_what_is_written_as_believed_is_not_misjudged(query: LogicalQuery, data: st.DataObject) -> None:
    """Whatever came, and however often paths were worked; ten times as much is, where it was read."""
    plan = derive(query, tables=TABLES)
    arrivals = {name: Arrivals(float(data.draw(COUNTS))) for name in TABLES}
    sizes = {name: TableStatistics(float(data.draw(COUNTS))) for name in TABLES}
    period = simulated(plan, Statistics(sizes), arrivals, only())
    schedule = scheduled(period, Goal(0.3, 4), path_knobs(period.paths, period.idle))
    oids = {name: 100 + number for number, name in enumerate(TABLES)}
    tables = {buffer.number: oids[buffer.table] for buffer in plan.buffers if isinstance(buffer, TableBuffer)}
    estimate = PeriodEstimate(period, schedule, tables)
    arrived = {oids[name]: round(arrival.inserts) for name, arrival in arrivals.items()}
    times = tuple(data.draw(st.integers(1, 4)) for _ in period.paths)
    believed = {
        subplan.writes: float(simulated.written.changes.gross[-1])
        for subplan, simulated in zip(plan.subplans, period.simulate(times).subplans, strict=True)
    }
    all_rows = dict.fromkeys(range(len(times)), sum(arrived.values()))
    firings = dict(enumerate(times))
    usual = {writes: round(rows) for writes, rows in believed.items()}
    assert not estimate.misjudged_subplans(Worked(arrived, all_rows, firings, usual))
    more = {writes: 10 * rows for writes, rows in usual.items()}
    many = {writes for writes, rows in believed.items() if round(rows) >= 100}
    assert estimate.misjudged_subplans(Worked(arrived, all_rows, firings, more)).keys() >= many
    assert not estimate.misjudged_subplans(Worked(arrived, {}, firings, more))


def passed(pace: int, rows_at_last_run: int, arrived: int, expected: float) -> bool:
    """Whether some mark, the k-th of so many but for the last, lies between the two."""
    rows = outgrown(expected, arrived)
    return rows > 0 and any(
        pace * rows_at_last_run < mark * rows <= pace * arrived for mark in range(1, pace)
    )


EXPECTED = st.integers(0, 400).map(float)


@given(steps=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 8), EXPECTED), min_size=1, max_size=40))
def test_marks_are_passed_once_whatever_paces_become(steps: list[tuple[int, int, float]]) -> None:
    """Another pace, and other expectations, in the middle of a period: no rows are worked twice, none are
    forgotten; it is due when a mark of what holds now lies in what it has not had."""
    arrived, paced = 0, Paced(ONE, 1, frozenset({ORDERS}))
    for more, pace, expected in steps:
        arrived += more
        paced = replace(paced, pace=pace)
        is_due = bool(due([paced], {ORDERS: arrived}, {ORDERS: expected}))
        assert is_due == passed(pace, paced.rows_at_last_run, arrived, expected)
        if is_due:
            assert paced.rows_at_last_run < arrived
            paced = replace(paced, rows_at_last_run=arrived)
            assert not due([paced], {ORDERS: arrived}, {ORDERS: expected})


@given(
    rows_at_last_run=st.integers(0, 500),
    burst=st.integers(0, 500),
    pace=st.integers(2, 8),
    rest=st.integers(200, 2000),
)
def test_the_rest_of_a_period_is_worked_as_its_new_paces_say(
    rows_at_last_run: int, burst: int, pace: int, rest: int
) -> None:
    """Chosen anew when so much has come, for what came and the rest: all marks that lie ahead are met."""
    start = rows_at_last_run + burst
    expected = start + rest
    paced, firings = Paced(ONE, pace, frozenset({ORDERS}), rows_at_last_run), 0
    for arrived in range(start, expected + 1):
        if due([paced], {ORDERS: arrived}, {ORDERS: float(expected)}):
            firings += 1
            paced = replace(paced, rows_at_last_run=arrived)
    marks = [mark * expected / pace for mark in range(1, pace)]
    at_once = any(rows_at_last_run < mark <= start for mark in marks)
    assert firings == at_once + sum(mark > start for mark in marks)
