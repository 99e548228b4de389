"""Which engine a firing is computed by: the cheaper one of those that can."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost.engines import Costs, EngineLimits
from planner.cost.weights import DEFAULTS, IN_PROCESS, SPARK, Weights, default_weights
from planner.cost.work import FEATURES, Features, rows_read, work
from planner.pace.choose import simulated
from planner.pace.schedule import Arrivals, Goal
from planner.pace.scratch import scratch_run
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import UNKNOWN, derived
from tests.support.planning.random_plans import FILLED
from tests.support.planning.schedules import schedule
from tests.support.planning.tpch_statistics import BOTH

ROWS = st.floats(0.0, 1e9)
ANYTHING = st.fixed_dictionaries(dict.fromkeys(FEATURES, ROWS))


def features(**rows: float) -> Features:
    return Features(*(np.array([rows.get(name, 0.0)]) for name in FEATURES))


def costs(*, most: float = 1e6, unable: dict[int, str] | None = None, **weights: Weights) -> Costs:
    small = EngineLimits(IN_PROCESS, most, 10.0 * most, unable=unable or {})
    return Costs((small, EngineLimits(SPARK)), weights)


def test_the_cheaper_engine_computes() -> None:
    """A job and a thousand rows: 0.005 + 0.00012 s in the process, 0.11 + 0.0003 s on Spark."""
    chosen = costs().choice(3, features(jobs=1.0, changes=1000.0))
    assert chosen.engine == IN_PROCESS
    assert chosen.work == pytest.approx(0.00512)
    assert chosen.works[SPARK] == pytest.approx(0.1103)
    assert chosen.reason == "0.0051 s beside 0.11 s on Spark"


def test_where_rows_have_become_dearer_in_the_process_spark_computes() -> None:
    dear = replace(DEFAULTS[IN_PROCESS], joined=1e-4)
    chosen = costs(DuckDB=dear).choice(3, features(jobs=1.0, joined=1e5))
    assert (chosen.engine, chosen.reason) == (SPARK, "0.22 s beside 10 s on DuckDB")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ({"changes": 2e6}, "2000000 changed rows, and at most 1000000 are computed in the process"),
        ({"contents": 2e7}, "20000000 rows to read, and at most 10000000 are computed in the process"),
    ],
)
def test_what_is_beyond_a_bound_is_sparks(rows: dict[str, float], why: str) -> None:
    chosen = costs().choice(3, features(jobs=1.0, **rows))
    assert (chosen.engine, chosen.reason) == (SPARK, why)
    assert set(chosen.works) == {SPARK}


def test_what_does_not_fit_the_memory_is_sparks() -> None:
    """A million groups of a hundred bytes take 95 MB; rows that are only read take none."""
    free = EngineLimits(IN_PROCESS, most_bytes=90 * 2**20, row_bytes={3: 100.0})
    both = Costs((free, EngineLimits(SPARK)), {})
    grouped = replace(features(jobs=1.0, gathered=1e7), held=np.array([1e6]))
    chosen = both.choice(3, grouped)
    assert chosen.engine == SPARK
    assert chosen.reason == "about 95 MB are needed, and 90 MB may be used in the process"
    assert both.works(3, grouped)[1].tolist() == [1]
    assert both.choice(3, features(jobs=1.0, contents=1e7)).engine == IN_PROCESS


def test_what_is_not_written_for_an_engine_is_sparks() -> None:
    both = costs(unable={3: "not written for DuckDB: xpath"})
    assert both.choice(3, features(jobs=1.0)).reason == "not written for DuckDB: xpath"
    assert both.choice(4, features(jobs=1.0)).engine == IN_PROCESS


def test_a_single_engine_needs_no_reason() -> None:
    alone = Costs((EngineLimits(SPARK),), {})
    assert alone.choice(3, features(jobs=1.0)).reason == ""
    assert default_weights("plain Python") == default_weights(SPARK)


@given(rows=ANYTHING, most=ROWS, unable=st.booleans())
def test_no_engine_that_may_is_cheaper(rows: dict[str, float], most: float, unable: bool) -> None:
    both = costs(most=most, unable={3: "why"} if unable else {})
    done = features(**rows)
    chosen = both.choice(3, done)
    works, places = both.works(3, done)
    assert both.engines[places[0]].name == chosen.engine
    assert works[0] == pytest.approx(chosen.work)
    assert chosen.work == min(chosen.works.values())
    is_small = done.changes[0] <= most and rows_read(done)[0] <= 10.0 * most
    assert (IN_PROCESS in chosen.works) == (is_small and not unable)
    assert both.choice(3, done) == chosen
    assert chosen.reason


@given(rows=ANYTHING)
def test_a_subplan_is_judged_by_its_own_weights(rows: dict[str, float]) -> None:
    dear = Weights(jobs=1e6)
    own = replace(costs(), own={3: {IN_PROCESS: dear}})
    done = features(**{**rows, "jobs": 1.0, "changes": 0.0, "contents": 0.0, "found": 0.0})
    assert own.choice(3, done).works[IN_PROCESS] == pytest.approx(float(work(done, dear)[0]))
    assert own.choice(4, done) == costs().choice(4, done)


def test_small_firings_in_the_process_make_a_goal_reachable() -> None:
    """Ten million rows come: all at once on Spark; a hundredth of them takes a hundredth in the process."""
    make = Make()
    few = Statistics({FILLED.name: TableStatistics(1e6, {2: ColumnStatistics(1e3)})})
    plan, coming = derived(make.count(make.s, make.d)), {FILLED.name: Arrivals(1e7)}
    alone = schedule(plan, few, coming, Costs((EngineLimits(SPARK),), {}), Goal(0.05, 100))
    both = schedule(plan, few, coming, BOTH, Goal(0.05, 100))
    assert both.final_work <= 0.05 * both.batch_work
    assert both.reachable < alone.reachable
    period = simulated(plan, few, coming, BOTH)
    boundless = replace(period, costs=Costs((EngineLimits(IN_PROCESS), EngineLimits(SPARK)), {}))
    assert scratch_run(period).work > 2 * scratch_run(boundless).work
    [counting, *_] = both.subplans
    assert set(counting.engines) == {IN_PROCESS}
    assert counting.reason.endswith("on Spark")


def test_no_rows_are_too_many_for_an_engine_without_bounds() -> None:
    huge: dict[TableName, Arrivals] = {FILLED.name: Arrivals(1e15)}
    make = Make()
    period = simulated(derived(make.count(make.s)), UNKNOWN, huge, BOTH)
    assert period.simulate((1, 1)).final < inf
