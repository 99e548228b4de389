"""What is expected of a period, and what came of it: figures for whatever is planned and whatever comes."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.firing.outcome import RunOutcome, SubplanOutcome
from coordinator.planning.period_estimate import PeriodEstimate, as_stated, kind_of
from planner.algebra.logical import LogicalQuery
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost.weights import Weights
from planner.cost.work import vector_of
from planner.delta.derive import derive
from planner.delta.weighted import TableBuffer
from planner.pace.choose import scheduled, simulated
from planner.pace.knobs import path_knobs
from planner.pace.schedule import Arrivals, Goal
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import derived
from tests.support.planning.random_plans import FILLED, TABLES, queries
from tests.support.planning.schedules import only

COUNTS = st.sampled_from((0, 1, 7, 1000, 10**6))
ARRIVALS = st.builds(Arrivals, COUNTS.map(float), COUNTS.map(float), COUNTS.map(float))


@settings(max_examples=60)
@given(query=queries(), data=st.data())
def test_there_are_figures_for_whatever_comes(query: LogicalQuery, data: st.DataObject) -> None:
    """Rows that nobody expected, of tables that nobody analysed, or none: a firing is judged all the same."""
    plan = derive(query, tables=TABLES)
    sizes = {name: TableStatistics(float(data.draw(COUNTS))) for name in TABLES if data.draw(st.booleans())}
    arrivals = {name: data.draw(ARRIVALS) for name in TABLES if data.draw(st.booleans())}
    period = simulated(plan, Statistics(sizes), arrivals, only())
    goal = Goal(data.draw(st.sampled_from((1.0, 0.3, 0.01))), data.draw(st.sampled_from((1, 4))))
    schedule = scheduled(period, goal, path_knobs(period.paths, period.idle))
    oids = {name: 100 + number for number, name in enumerate(TABLES)}
    read = {buffer.number: oids[buffer.table] for buffer in plan.buffers if isinstance(buffer, TableBuffer)}
    estimate = PeriodEstimate(period, schedule, read)
    shares = tuple(
        SubplanOutcome(
            subplan.writes,
            {buffer: data.draw(COUNTS) for buffer in subplan.reads},
            {buffer: data.draw(COUNTS) for buffer in (*subplan.reads, subplan.writes)},
            data.draw(COUNTS),
            data.draw(COUNTS),
            1,
            0.5,
            0.7,
        )
        for subplan in plan.subplans
    )
    measured = estimate.measurements(RunOutcome({}, (), shares, 1.0, 0.5))
    assert len(measured) == sum(share.rows_in > 0 for share in shares)
    assert all(isfinite(measurement.predicted) and measurement.predicted >= 0 for measurement in measured)
    arrived = {oid: data.draw(COUNTS) for oid in oids.values()}
    outcome = estimate.outcome(0.5, arrived, 2.0)
    assert outcome.batch_work is not None
    assert outcome.measured_final_work is not None
    assert isfinite(outcome.batch_work)
    if any(arrived.values()):
        assert outcome.met == (outcome.measured_final_work <= goal.final_work)
    else:
        assert outcome.met is None
    assert estimate.outcome(0.0, {}, 2.0).met is None
    assert estimate.outcome(0.0, dict.fromkeys(oids.values(), 1), 2.0).met
    written = {subplan.writes: data.draw(COUNTS) for subplan in plan.subplans}
    arrived = {oid: data.draw(COUNTS) for oid in oids.values()}
    corrections = estimate.corrections(arrived, {0: 3}, written)
    assert all(0.001 <= correction <= 1000 for correction in corrections.values())
    again = simulated(plan, Statistics(sizes), arrivals, only(), corrections)
    assert isfinite(scheduled(again, goal, path_knobs(again.paths, again.idle)).final_work)


@pytest.mark.parametrize(
    ("seconds", "factor", "moved"), [(None, 4.0, False), (9.0, 4.0, True), (9.0, 1.1, False)]
)
def test_a_machine_that_has_become_slower(seconds: float | None, factor: float, moved: bool) -> None:
    """Of a share nothing is left undone; of seconds more is."""
    estimate = counted(Goal(0.3, 8, seconds))
    slower = Weights(*(factor * vector_of(Weights())))
    assert estimate.cost_has_changed(only(slower)) == moved


def test_firings_that_have_become_dearer_beside_rows() -> None:
    estimate = counted(Goal(0.3, 8))
    dear = replace(Weights(), jobs=1000 * Weights().jobs)
    assert not estimate.cost_has_changed(only())
    assert estimate.cost_has_changed(only(dear))
    assert estimate.cost_has_changed(only(own={1: dear}))


def counted(goal: Goal) -> PeriodEstimate:
    """Many rows, in few groups."""
    make = Make()
    plan = derived(make.count(make.s, make.d))
    few = Statistics({FILLED.name: TableStatistics(1e6, {2: ColumnStatistics(1e4)})})
    period = simulated(plan, few, {FILLED.name: Arrivals(1e8)}, only())
    schedule = scheduled(period, goal, path_knobs(period.paths, period.idle))
    assert any(path.pace > 1 for path in schedule.paths)
    return PeriodEstimate(period, schedule, {0: 100})


def test_rows_are_scaled_kind_by_kind() -> None:
    assert Arrivals(10, 20, 30).scaled(160) == Arrivals(20, 40, 60)
    assert Arrivals(20, 40, 60).changed == pytest.approx(160)
    assert Arrivals(0).scaled(5) == Arrivals(5)


def test_kinds_are_those_of_what_came() -> None:
    """Both versions of an updated row are changed rows; of rows that the owner states it is one."""
    kind = kind_of(160, 40, 60)
    assert kind == Arrivals(20, 40, 60)
    assert as_stated(kind, 60) == Arrivals(10, 20, 30)
    assert kind_of(0, 0, 0) == Arrivals(1)
