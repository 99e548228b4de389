"""Paces of plans: what holds of every schedule, whatever the query, the goal and what comes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from math import inf, isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from catalog.postgres.types import BOOLEAN, NUMERIC, SqlType
from planner.algebra.columns import refer
from planner.algebra.logical import (
    Filter,
    Join,
    JoinKind,
    LogicalQuery,
    Order,
    Output,
    Plan,
    Scan,
    Top,
    fields,
)
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost.engines import Costs
from planner.cost.weights import Weights
from planner.delta.derive import derive
from planner.delta.weighted import DeltaPlan, NodeBuffer
from planner.explain.schedule_text import curve_text, schedule_text
from planner.pace.cap import affordable, knee, within
from planner.pace.choose import scheduled, simulated
from planner.pace.knobs import path_knobs, table_knobs, whole_knob
from planner.pace.paths import Path
from planner.pace.reasons import DECLINED, FED_ONCE, IDLE, LITTLE
from planner.pace.schedule import Arrivals, Goal, Schedule
from planner.pace.search import Raise
from planner.pace.simulation import SimulatedRuns
from planner.plan import plan as plan_query
from tests.planner.cost.test_estimate import Make
from tests.planner.test_delta_plans import snapshot
from tests.support.binding.cases import recorded
from tests.support.planning.cases import FOLDER, QUERIES, bound
from tests.support.planning.random_plans import FILLED, TABLES, call, columns_of, queries
from tests.support.planning.schedules import only, schedule
from tests.support.planning.tpch_statistics import FAST, arrivals, statistics
from tests.support.recording import assert_as_recorded

UNKNOWN = Statistics()

rows = st.floats(0.0, 1e7)
changes = st.builds(Arrivals, rows, st.sampled_from((0.0, 1e4)), st.sampled_from((0.0, 1e5)))


@settings(max_examples=150, deadline=None)
@given(
    query=queries(),
    before=rows,
    coming=st.fixed_dictionaries(dict.fromkeys(TABLES, changes)),
    share=st.sampled_from((1.0, 0.5, 0.1, 0.01)),
    most=st.integers(1, 20),
    cost=st.sampled_from((1.0, 1.5, 3.0, 1000.0)),
    store_joins=st.booleans(),
)
def test_every_schedule_can_be_carried_out(
    query: LogicalQuery,
    before: float,
    coming: dict[TableName, Arrivals],
    share: float,
    most: int,
    cost: float,
    store_joins: bool,
) -> None:
    plan = derive(query, tables=TABLES, store_joins=store_joins)
    statistics = Statistics(dict.fromkeys(TABLES, TableStatistics(before)))
    period = simulated(plan, statistics, coming, only())
    found = scheduled(period, Goal(share, most, max_cost=cost), path_knobs(period.paths, period.idle))
    no_path_outpaces_what_feeds_it(found, plan)
    assert [paced.path for paced in found.paths] == list(period.paths)
    assert all(1 <= paced.pace <= most for paced in found.paths)
    finals = [point.final_work for point in found.curve]
    assert finals == sorted(finals, reverse=True)
    assert found.final_work <= found.batch_work
    assert found.total_work <= cost * found.batch_work * (1.0 + 1e-9)
    assert np.isfinite([*finals, found.total_work, found.recompute_work]).all()
    assert all(work >= 0.0 for subplan in found.subplans for work in subplan.firings)
    last = sum(subplan.firings[-1] for subplan in found.subplans)
    assert np.isclose(min(last, found.recompute_work), found.final_work)


def no_path_outpaces_what_feeds_it(found: Schedule, plan: DeltaPlan) -> None:
    paces = {paced.path: paced.pace for paced in found.paths}
    for path, pace in paces.items():
        below = [other for lower, other in paces.items() if lower.writes == path.reads]
        if isinstance(plan.buffers[path.reads], NodeBuffer) and below:
            assert pace <= max(below)


def test_the_example_of_balances_above_the_average() -> None:
    """The average is kept up early; what hangs on it waits until it is settled."""
    make = Make()
    other = Scan(make.s.table, "other", columns_of(FILLED, make.numbers))
    average = make.aggregate(other, make.of(2101, "avg", fields(other)[1], SqlType(NUMERIC)))
    above = call(1756, ">", BOOLEAN, refer(make.d), refer(average.columns[0].field))
    plan = derived(Join(JoinKind.INNER, make.s, average, above))
    customers, copy, averages = 0, 1, 2
    found = planned(plan, {FILLED.name: Arrivals(1e7)}, Goal(0.3, 100))
    paces = {paced.path: paced for paced in found.paths}
    assert set(paces) == {Path(2, copy), Path(3, customers), Path(3, averages)}
    assert paces[Path(2, copy)].pace > 1
    assert paces[Path(3, averages)].pace == 1
    assert found.final_work < found.batch_work


def test_rows_that_only_pass_are_fully_incrementable() -> None:
    make = Make()
    free = replace(Weights(), jobs=0.0, operators=0.0)
    found = planned(
        derived(Filter(make.s, make.small)), {FILLED.name: Arrivals(1e6)}, Goal(0.1, 100), only(free)
    )
    assert [paced.incrementability for paced in found.paths] == [inf]
    assert isclose(found.total_work, found.batch_work)
    assert found.final_work <= 0.1 * found.batch_work


def test_groups_that_change_again_are_partially_incrementable() -> None:
    make = Make()
    few = Statistics({FILLED.name: TableStatistics(1e6, {2: ColumnStatistics(1e4)})})
    plan = derived(make.count(make.s, make.d))
    found = planned(plan, {FILLED.name: Arrivals(1e7)}, Goal(0.1, 100), known=few)
    [path, answer] = found.paths
    assert path.incrementability is not None
    assert 0.0 < path.incrementability < inf
    assert path.pace >= 10
    assert answer.pace <= path.pace


def test_groups_that_all_change_again_are_not_incrementable() -> None:
    """Half of the rows are enough to meet nearly every group; with a hundredth at a time it is otherwise."""
    make = Make()
    plan = derived(make.count(make.s, make.d))
    twice = planned(plan, {FILLED.name: Arrivals(1e7)}, Goal(0.1, 2))
    assert {paced.pace for paced in twice.paths} == {1}
    assert [paced.reason for paced in twice.paths] == [DECLINED, FED_ONCE]
    assert twice.reachable == 1.0
    often = planned(plan, {FILLED.name: Arrivals(1e7)}, Goal(0.1, 100, max_cost=1000.0))
    assert often.paths[0].pace > 2
    assert often.reachable < 0.2


def test_a_goal_that_costs_too_much_is_not_pursued_beyond_the_knee() -> None:
    make = Make()
    plan, coming = derived(make.count(make.s, make.d)), {FILLED.name: Arrivals(1e7)}
    dear = planned(plan, coming, Goal(0.1, 100, max_cost=1000.0))
    assert dear.final_work <= 0.1 * dear.batch_work
    assert dear.total_work > 3.0 * dear.batch_work
    capped = planned(plan, coming, Goal(0.1, 100))
    assert capped.reachable > 0.1
    assert capped.final_work > 0.1 * capped.batch_work
    assert capped.total_work <= 3.0 * capped.batch_work


def test_the_knee_of_a_curve() -> None:
    def at(final: float, total: float) -> Raise:
        return Raise((), (), SimulatedRuns(final, total, ()), 0.0)

    steps = [at(1.0, 1.0), at(0.4, 1.2), at(0.3, 3.0), at(0.2, 4.6)]
    assert knee(affordable(steps, 3.0)) is steps[1]
    assert knee(affordable(steps, 1.0)) is steps[0]
    assert list(within(steps, 3.0)) == steps[:3]
    assert knee([at(1.0, 1.0), cheaper := at(0.5, 0.9)]) is cheaper
    assert knee([nothing := at(1.0, 1.0), at(0.99, 2.0)]) is nothing


def test_what_saves_next_to_nothing_is_not_done() -> None:
    """Which rows are the first of a hundred millions costs as much however few came."""
    make = Make()
    order = tuple(Order(refer(field), False, False) for field in fields(make.s))
    large = Statistics({FILLED.name: TableStatistics(1e8)})
    plan = derived(Top(make.s, order, 10, 10))
    found = planned(plan, {FILLED.name: Arrivals(1e3)}, Goal(0.1, 100), known=large)
    assert {paced.pace for paced in found.paths} == {1}
    assert [paced.reason for paced in found.paths] == [LITTLE, FED_ONCE]


def test_what_does_not_come_is_not_waited_for() -> None:
    make = Make()
    coming = {FILLED.name: Arrivals(1e7)}
    plan = derived(make.count(make.join(JoinKind.INNER), make.d))
    paces = {paced.path.reads: paced for paced in planned(plan, coming, Goal(0.2, 50)).paths}
    assert paces[0].reason == IDLE
    assert paces[0].pace == 1
    assert paces[1].pace > 1


def test_a_goal_in_seconds_holds_nine_times_in_ten() -> None:
    make = Make()
    plan, coming = derived(Filter(make.s, make.small)), {FILLED.name: Arrivals(1e7)}
    weights = replace(Weights(), latency=3.0)
    found = planned(plan, coming, Goal(1.0, 100, 2.5), only(weights))
    assert found.final_work * weights.latency <= 2.5 < found.batch_work * weights.latency


def test_what_one_firing_meets_gets_no_other() -> None:
    make = Make()
    plan, coming = derived(make.count(make.s, make.d)), {FILLED.name: Arrivals(1e6)}
    batch = simulated(plan, Statistics(), coming, only()).simulate((1, 1)).final
    enough = Goal(1.0, 100, batch * Weights().latency * 1.001)
    found = schedule(plan, Statistics(), coming, only(), enough)
    assert {paced.pace for paced in found.paths} == {1}
    nearly = Goal(1.0, 100, batch * Weights().latency * 0.9, max_cost=1000.0)
    less = schedule(plan, Statistics(), coming, only(), nearly)
    assert max(path.pace for path in less.paths) > 1


def test_observed_rows_correct_the_estimates() -> None:
    make = Make()
    plan, coming = derived(make.count(make.s, make.d)), {FILLED.name: Arrivals(1e6)}
    corrected = simulated(plan, Statistics(), coming, only(), {1: 2.0}).simulate((4, 4))
    plain = simulated(plan, Statistics(), coming, only()).simulate((4, 4))
    expected, seen = plain.subplans[0].written.changes, corrected.subplans[0].written.changes
    assert seen.inserts == pytest.approx(2.0 * expected.inserts)
    assert seen.replacements == pytest.approx(2.0 * expected.replacements)
    assert (expected.deletes == 0.0).all()


def test_a_subplan_has_the_weights_that_were_measured_of_it() -> None:
    make = Make()
    plan, coming = derived(make.count(make.s, make.d)), {FILLED.name: Arrivals(1e6)}
    usual = simulated(plan, Statistics(), coming, only())
    dear = simulated(plan, Statistics(), coming, only(own={1: Weights(jobs=100.0)}))
    pairs = zip(usual.simulate((2, 2)).subplans, dear.simulate((2, 2)).subplans, strict=True)
    more = [two.works - one.works for one, two in pairs]
    assert more[0] == pytest.approx([100.0 - Weights().jobs] * 2)
    assert more[1] == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("name", ["q04", "q13", "q15", "q17", "q18", "q22"])
def test_one_pace_for_all_costs_no_less(name: str) -> None:
    period = simulated(tpch(name), statistics(0.5), arrivals(0.5), FAST)
    goal = Goal(0.7, 64)
    found = scheduled(period, goal, path_knobs(period.paths, period.idle))
    for knobs in (whole_knob(period.paths), table_knobs(period.paths, period.idle)):
        forced = scheduled(period, goal, knobs)
        if forced.final_work <= 0.7 * forced.batch_work:
            assert found.total_work <= forced.total_work * 1.001
    assert found.final_work <= 0.7 * found.batch_work


@pytest.mark.parametrize("name", [f"q{number:02d}" for number in range(1, 23)])
def test_schedules_are_as_recorded(name: str) -> None:
    plan = tpch(name)
    found = planned(plan, arrivals(0.5), Goal(0.3, 100), known=statistics(0.5))
    written = f"{schedule_text(plan, found)}\n{curve_text(plan, found)}"
    assert_as_recorded(FOLDER / "schedule" / f"{name}.schedule", written)


@functools.cache
def tpch(name: str) -> DeltaPlan:
    known = snapshot()
    [case] = recorded(QUERIES / f"{name}.bound")
    return plan_query(bound(case, known), known.tables, statistics()).delta


def derived(plan: Plan) -> DeltaPlan:
    query = LogicalQuery(plan, tuple(Output(field.name, field.column) for field in fields(plan)))
    return derive(query, tables=TABLES)


def planned(
    plan: DeltaPlan,
    coming: Mapping[TableName, Arrivals],
    goal: Goal,
    costs: Costs = FAST,
    known: Statistics = UNKNOWN,
) -> Schedule:
    return schedule(plan, known, coming, costs, goal)
