"""Computing everything from scratch: what it has to do, and when the last run of a period does so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost.alike import Comparison
from planner.pace.choose import at_paces, scheduled, simulated
from planner.pace.expected import Learned
from planner.pace.knobs import path_knobs
from planner.pace.measured import Seen, features_of
from planner.pace.schedule import Arrivals, Goal, Schedule
from planner.pace.scratch import scratch_features, scratch_run
from planner.pace.simulation import Simulation
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import derived
from tests.support.planning.random_plans import FILLED
from tests.support.planning.schedules import only


def counted() -> Simulation:
    """A million rows in a hundred groups; all are updated."""
    make = Make()
    few = Statistics({FILLED.name: TableStatistics(1e6, {2: ColumnStatistics(100.0)})})
    plan = derived(make.count(make.s, make.d))
    return simulated(plan, few, {FILLED.name: Arrivals(0.0, 1e6)}, only())


def from_nothing() -> Simulation:
    """A million rows come into an empty table, in a hundred groups."""
    make = Make()
    empty = Statistics({FILLED.name: TableStatistics(0.0, {2: ColumnStatistics(100.0)})})
    plan = derived(make.count(make.s, make.d))
    return simulated(plan, empty, {FILLED.name: Arrivals(1e6)}, only())


def chosen(goal: Goal, recompute_work: float | None = None) -> Schedule:
    period = counted()
    knobs = path_knobs(period.paths, period.idle)
    return scheduled(period, goal, knobs, recompute_work=recompute_work)


def test_what_was_measured_is_counted_as_what_is_foreseen() -> None:
    """A first firing finds a million rows, and nothing before; so does one that is foreseen."""
    period = counted()
    measured, expected = features_of(period, 1, {0: Seen(0.0, 1e6), 1: Seen(0.0)}, 100.0)
    foreseen = scratch_features(period, 1, {0: 1e6}, consolidates=False)
    assert measured["changes"] == foreseen.changes[0] + foreseen.contents[0] == 1e6
    assert expected == foreseen.written[0] == pytest.approx(100.0)


def test_a_period_that_begins_with_nothing_begins_from_scratch() -> None:
    """Nothing is looked up in its first run: that has to do what computing its rows from scratch has."""
    period = from_nothing()
    one, four = ((pace,) * len(period.paths) for pace in (1, 4))
    batch = period.simulate(one).subplans[0]
    whole = scratch_features(period, 1, {0: 1e6}, consolidates=False)
    assert np.array_equal(batch.features.matrix, whole.matrix)
    quarters = period.simulate(four).subplans[0]
    first = scratch_features(period, 1, {0: 2.5e5}, consolidates=False)
    assert np.array_equal(quarters.features.matrix[:, 0], first.matrix[:, 0])
    assert quarters.features.keyed[0] == 0.0
    assert all(quarters.features.keyed[1:] > 0.0)


def test_rows_that_were_taken_back_are_read_and_go_no_further() -> None:
    """Of three million changed rows a million is there: all are grouped first, and a million once more."""
    period = counted()
    log = scratch_features(period, 1, {0: 3e6}, consolidates=True)
    table = scratch_features(period, 1, {0: 1e6}, consolidates=False)
    assert log.changes[0] == 3e6
    assert log.gathered[0] == table.gathered[0] + 3e6
    assert log.held[0] == table.held[0] + 3e6
    assert log.written[0] == table.written[0]


def test_rows_that_were_written_before_are_expected_again() -> None:
    period = counted()
    ten_times = Learned(from_scratch={1: [Comparison(100.0, 1000.0)] * 9})
    assert scratch_run(period).result_rows == pytest.approx(100.0)
    assert 700.0 < scratch_run(period, None, ten_times).result_rows < 1000.0
    assert scratch_run(period, None, ten_times).work > scratch_run(period).work


def test_the_last_run_takes_no_more_than_computing_everything() -> None:
    """All rows twice, and their groups, cost more than all rows once; then no early run pays."""
    found = chosen(Goal(1.0, 16))
    changes = chosen(Goal(1.0, 16, recomputes=False))
    assert found.recompute_work < changes.batch_work
    assert found.final_work == found.total_work == found.batch_work == found.recompute_work
    assert all(path.pace == 1 for path in found.paths)
    assert changes.batch_work == changes.final_work


def test_goals_are_shares_of_the_cheaper_way() -> None:
    """Half of that is less than half of the changes' work, and takes more runs; it may be known better."""
    cheap = 0.9 * chosen(Goal(1.0, 64)).batch_work
    of_changes = chosen(Goal(0.5, 64, max_cost=1e3, recomputes=False))
    found = chosen(Goal(0.5, 64, max_cost=1e3), recompute_work=cheap)
    assert found.batch_work == cheap
    assert found.final_work <= 0.5 * cheap < of_changes.final_work
    assert max(path.pace for path in found.paths) > max(path.pace for path in of_changes.paths)
    assert min(point.total_work for point in found.curve) == cheap


def test_kept_paces_are_cheaper_too() -> None:
    found = chosen(Goal(1.0, 16))
    assert at_paces(found, counted(), found.paths).final_work == found.recompute_work
    forced = replace(found, goal=Goal(1.0, 16, recomputes=False))
    assert at_paces(forced, counted(), found.paths).final_work > found.recompute_work
