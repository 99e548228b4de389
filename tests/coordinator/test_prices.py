"""What a run is expected to take: by its changes, and from scratch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from catalog.queries.measurements import MeasuredPart
from coordinator.firing.due_rows import SubplanRows
from coordinator.planning.period_estimate import PeriodEstimate
from coordinator.planning.prices import Prices, TakenToPredicted, chooses_itself, taken_to_predicted
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost.weights import SPARK, Weights
from planner.pace.choose import scheduled, simulated
from planner.pace.knobs import path_knobs
from planner.pace.schedule import Arrivals, Goal
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import derived
from tests.support.planning.random_plans import FILLED
from tests.support.planning.schedules import only

JOB = {"jobs": 1.0}


def part(run: int, work: float, *, from_scratch: bool = False, jobs: float = 1.0) -> MeasuredPart:
    return MeasuredPart(run, from_scratch, work, 1, SPARK, {"jobs": jobs})


def test_a_run_is_computed_from_scratch_where_that_is_clearly_cheaper() -> None:
    """It writes all states and the result again, so it has to be cheaper by a fourth of itself."""
    assert Prices(changes=1.3, recompute=1.0).is_recomputed
    assert not Prices(changes=1.2, recompute=1.0).is_recomputed


def test_what_was_measured_is_believed_the_more_the_more_there_is() -> None:
    """A job takes 0.11 s by the defaults. One run that took four times that counts as twice; of three the
    middle one is believed to the power of three fourths."""
    job = Weights().jobs
    assert taken_to_predicted([], only()) == TakenToPredicted(1.0, 1.0)
    assert taken_to_predicted([part(1, 4 * job)], only()).changes == pytest.approx(2.0)
    assert taken_to_predicted([part(1, 4 * job, from_scratch=True)], only()).recompute == pytest.approx(2.0)
    three = [part(run, factor * job) for run, factor in enumerate((100.0, 16.0, 1.0))]
    assert taken_to_predicted(three, only()).changes == pytest.approx(8.0)


def test_of_two_runs_the_cheaper_one_is_believed() -> None:
    """The first answer of all may have found Java cold."""
    job = Weights().jobs
    assert taken_to_predicted([part(1, 50 * job), part(2, job)], only()).changes == pytest.approx(1.0)


def test_the_parts_of_a_run_are_added_up() -> None:
    two = [part(1, 3 * Weights().jobs), part(1, 3 * Weights().jobs, jobs=2.0)]
    assert taken_to_predicted(two, only()).changes == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("method", "free"), [(None, True), ("auto", True), ("linear", False), ("recompute", False)]
)
def test_who_forces_a_method_has_it(method: str | None, free: bool) -> None:
    assert chooses_itself({} if method is None else {"METHOD": method}) == free


def counted(rows: float) -> PeriodEstimate:
    """So many rows in a hundred groups, of which a tenth is updated."""
    make = Make()
    plan = derived(make.count(make.s, make.d))
    few = Statistics({FILLED.name: TableStatistics(rows, {2: ColumnStatistics(100.0)})})
    coming: dict[TableName, Arrivals] = {FILLED.name: Arrivals(0.0, rows / 10.0)}
    period = simulated(plan, few, coming, only())
    schedule = scheduled(period, Goal(1.0, 1), path_knobs(period.paths, period.idle))
    return PeriodEstimate(period, schedule, {0: 100})


def due(before: int, arrived: int) -> dict[int, SubplanRows]:
    """The rows of the table that are due, and what follows from them."""
    return {
        1: SubplanRows({0: before, 1: 100}, {0: arrived}, frozenset({0})),
        2: SubplanRows({1: 100, 2: 100}, {1: 0}, frozenset({1})),
    }


def test_what_is_due_is_priced_as_the_period_that_brings_it() -> None:
    estimate = counted(1e6)
    batch = estimate.batch_work({100: 200_000})
    assert estimate.due_work(due(10**6, 200_000)) == pytest.approx(batch, rel=0.1)


def test_the_more_is_due_the_sooner_everything_is_computed_from_scratch() -> None:
    """A thousand updates cost less than a million rows; a table that was replaced costs more."""
    estimate = counted(1e6)
    everything = estimate.recompute_work({0: 10**6})
    works = [estimate.due_work(due(10**6, rows)) for rows in (0, 2_000, 200_000, 2_000_000, 20_000_000)]
    assert works == sorted(works)
    assert works[1] < everything < works[-1]
    assert Prices(works[-1], everything).is_recomputed


@given(rows=st.integers(0, 10**7), jobs=st.floats(0.0, 100.0), factor=st.floats(0.01, 100.0))
def test_the_same_figures_give_the_same_prices(rows: int, jobs: float, factor: float) -> None:
    estimate = counted(1e6)
    parts = [part(1, factor * jobs, jobs=jobs)]
    assert taken_to_predicted(parts, only()) == taken_to_predicted(parts, only())
    assert estimate.due_work(due(10**6, rows)) == counted(1e6).due_work(due(10**6, rows))
