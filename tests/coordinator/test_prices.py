"""What a run is expected to take: by its changes, and from scratch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from catalog.queries.measurements import MeasuredPart, MeasuredRun
from coordinator.firing.due_rows import SubplanRows
from coordinator.planning.period_estimate import PeriodEstimate
from coordinator.planning.prices import Experience, Prices, chooses_itself, experience_from
from coordinator.planning.publishing_cost import ResultRows
from planner.algebra.logical import JoinKind
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost.engines import Costs, EngineLimits
from planner.cost.weights import IN_PROCESS, SPARK, Weights, default_weights
from planner.pace.choose import scheduled, simulated
from planner.pace.expected import ExpectedRun
from planner.pace.knobs import path_knobs
from planner.pace.schedule import Arrivals, Goal
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import derived
from tests.support.planning.random_plans import FILLED, TABLES
from tests.support.planning.schedules import only

JOB = Weights().jobs
EMPTY = ResultRows(0.0)


def learned(*factors: float, from_scratch: bool = False) -> Experience:
    """What runs of a job each teach that took so many times as much as expected, the latest one first."""
    runs = [
        MeasuredRun(run, run, from_scratch, factor * JOB, None, None) for run, factor in enumerate(factors)
    ]
    return experience_from(runs, [part(run.run) for run in runs], only())


def part(run: int, *, jobs: float = 1.0, wrote: int = 1, expected: float | None = None) -> MeasuredPart:
    return MeasuredPart(run, 1, SPARK, {"jobs": jobs}, wrote, expected)


def of_changes(learned: Experience, work: float = JOB) -> float:
    """How many times as much as expected a run takes, but for publishing nothing."""
    nothing = Experience().changes_work(ExpectedRun(0.0, 0.0), 0, EMPTY)
    return (learned.changes_work(ExpectedRun(work, 0.0), 0, EMPTY) - nothing) / work


def test_a_run_is_computed_from_scratch_where_that_is_clearly_cheaper() -> None:
    """The next changes find nothing in memory, so it has to be cheaper by a fourth of itself."""
    assert Prices(changes=1.3, recompute=1.0).is_recomputed
    assert not Prices(changes=1.2, recompute=1.0).is_recomputed
    assert Prices(changes=None, recompute=1.0).is_recomputed


def test_what_was_measured_is_believed_the_more_the_more_there_is() -> None:
    """One run that took four times as much counts as 4 ** (1 / 1.3)."""
    assert of_changes(learned()) == pytest.approx(1.0)
    assert of_changes(learned(4.0)) == pytest.approx(4.0 ** (1 / 1.3))
    assert 3.5 < of_changes(learned(4.0, 4.0, 4.0, 4.0)) < 4.0


def test_runs_from_scratch_teach_half_as_much_of_changes() -> None:
    """Rows are as wide, and expressions as dear; changes teach nothing of computing from scratch."""
    run = ExpectedRun(JOB, 0.0)
    assert of_changes(learned(4.0, from_scratch=True)) == pytest.approx(4.0 ** (0.5 / 0.8))
    assert learned(4.0, from_scratch=True).computing_work(run) == pytest.approx(JOB * 4.0 ** (1 / 1.3))
    assert learned(4.0).computing_work(run) == JOB


def test_one_run_that_was_far_off_changes_nothing() -> None:
    """The first one of all may have found Java cold."""
    assert of_changes(learned(1.0, 50.0)) == pytest.approx(1.0)
    assert of_changes(learned(50.0, 1.0, 1.0)) == pytest.approx(1.0)


def test_runs_of_another_size_teach_less() -> None:
    many = learned(4.0, 4.0, 4.0)
    assert of_changes(many) > of_changes(many, 8 * JOB) > of_changes(many, 64 * JOB) > 1.0


def test_the_parts_of_a_run_are_added_up() -> None:
    run = MeasuredRun(1, 0, False, 3 * JOB, None, None)
    assert of_changes(experience_from([run], [part(1), part(1, jobs=2.0)], only())) == pytest.approx(1.0)


def test_rows_that_were_written_correct_those_that_are_expected() -> None:
    """A subplan that wrote a tenth of the rows that were expected does so again."""
    runs = [MeasuredRun(run, run, False, JOB, None, None) for run in range(3)]
    parts = [part(run, wrote=100, expected=1000.0) for run in range(3)]
    written = experience_from(runs, parts, only()).written
    assert 0.1 < written.factor(1, 1000.0, from_scratch=False) < 0.2
    assert written.factor(1, 1000.0, from_scratch=True) == 1.0
    assert written.factor(2, 1000.0, from_scratch=False) == 1.0
    assert experience_from(runs, [part(0)], only()).written.factor(1, 10.0, from_scratch=False) == 1.0


def test_publishing_is_in_both_prices() -> None:
    """Of changes as many rows as are new, from scratch all; and by what it took before."""
    few, all_rows = ExpectedRun(0.0, 10.0), ExpectedRun(0.0, 1e6)
    nothing, found = Experience(), ResultRows(1e6, most_found=1e3)
    expected = nothing.recompute_work(all_rows, found)
    assert expected > 100 * nothing.changes_work(few, 0, found)
    assert nothing.changes_work(few, 10**6, found) > 100 * nothing.changes_work(few, 0, found)
    assert nothing.changes_work(few, 0, ResultRows(1e6)) > 100 * nothing.changes_work(few, 0, found)
    slow = MeasuredRun(1, 0, True, JOB, 5 * expected, expected)
    taught = experience_from([slow], [part(1)], only())
    assert taught.recompute_work(all_rows, found) > 2 * expected
    assert taught.changes_work(few, 0, found) == nothing.changes_work(few, 0, found)


def test_rows_that_replace_one_another_are_published_once() -> None:
    """Ten runs that each change every row leave two changed rows of each; rows that are added stay."""
    groups, added = ResultRows(1e4, retracted_share=0.5), ResultRows(1e4)
    assert groups.changed_by_several(2e5) == pytest.approx(2e4, rel=1e-3)
    assert groups.changed_by_several(20.0) == pytest.approx(20.0, rel=1e-2)
    assert added.changed_by_several(2e5) == 2e5
    assert ResultRows(1e4, retracted_share=0.25).changed_by_several(2e5) == pytest.approx(1.2e5, rel=1e-2)
    assert ResultRows(0.0, retracted_share=1.0).changed_by_several(100.0) == pytest.approx(102.0)
    run, nothing = ExpectedRun(0.0, 2e4), Experience()
    assert nothing.changes_work(run, 180_000, groups) == nothing.changes_work(run, 0, groups)
    assert nothing.changes_work(run, 180_000, added) > 5 * nothing.changes_work(run, 0, added)


def test_a_query_without_runs_learns_from_others() -> None:
    others = learned(4.0, 4.0)
    assert of_changes(Experience().beside(others)) == of_changes(others)
    assert of_changes(learned(1.0).beside(others)) == pytest.approx(1.0)


def test_rows_that_are_fresh_cost_once() -> None:
    """In the process they are given another form; what this process has never read is all fresh."""
    make = Make()
    plan = derived(make.join(JoinKind.INNER))
    known = Statistics(dict.fromkeys(TABLES, TableStatistics(1e6, {1: ColumnStatistics(1e6)})))
    fresh = replace(default_weights(IN_PROCESS), fresh=1e-6)
    costs = Costs((EngineLimits(IN_PROCESS),), {IN_PROCESS: fresh})
    period = simulated(plan, known, {}, costs)
    schedule = scheduled(period, Goal(1.0, 1), path_knobs(period.paths, period.idle))
    estimate = PeriodEstimate(period, schedule, {0: 100, 1: 101})
    [joining, *_] = plan.subplans
    before = dict.fromkeys((joining.writes, *joining.reads), 10**6)
    rows = {joining.writes: SubplanRows(before, {joining.reads[0]: 10}, frozenset(joining.reads))}
    works = [
        estimate.due_run(rows, fresh={joining.writes: dict.fromkeys(joining.reads, count)}).work
        for count in (0, 10**5, 10**9)
    ]
    assert 0.1 <= works[1] - works[0] <= 0.2 + 1e-9
    assert works[2] == estimate.due_run(rows).work


def test_updates_are_reckoned_with_as_soon_as_they_have_come() -> None:
    """Though nothing was expected when paces were chosen."""
    make = Make()
    few = Statistics({FILLED.name: TableStatistics(1e6, {2: ColumnStatistics(100.0)})})
    period = simulated(derived(make.count(make.s, make.d)), few, {}, only())
    schedule = scheduled(period, Goal(1.0, 1), path_knobs(period.paths, period.idle))
    expecting_none = PeriodEstimate(period, schedule, {0: 100})
    updates = expecting_none.for_kinds({FILLED.name: Arrivals(0.0, 1.0)})
    assert updates.for_kinds({FILLED.name: Arrivals(0.0, 7.0)}) is updates
    assert period.retracted_share(0) == 0.0
    assert updates.simulation.retracted_share(0) == 0.5
    assert updates.simulation.retracted_share(1) > 0.3


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
    assert estimate.due_run(due(10**6, 200_000)).work == pytest.approx(batch, rel=0.1)


def test_the_more_is_due_the_sooner_everything_is_computed_from_scratch() -> None:
    """A thousand updates cost less than a million rows; a table that was replaced costs more."""
    estimate = counted(1e6)
    everything = estimate.scratch_run({0: 10**6}).work
    works = [estimate.due_run(due(10**6, rows)).work for rows in (0, 2_000, 200_000, 2_000_000, 20_000_000)]
    assert works == sorted(works)
    assert works[1] < everything < works[-1]
    assert Prices(works[-1], everything).is_recomputed


@given(rows=st.integers(0, 10**7), factors=st.lists(st.floats(1e-6, 1e6), max_size=5))
def test_nothing_that_was_measured_changes_a_price_by_more_than_ten_times(
    rows: int, factors: list[float]
) -> None:
    estimate = counted(1e6)
    assert 0.1 <= of_changes(learned(*factors)) <= 10.0 + 1e-9
    assert estimate.due_run(due(10**6, rows)) == counted(1e6).due_run(due(10**6, rows))
