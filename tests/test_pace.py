"""Paces of plans: what holds of every schedule, whatever the query, the goal and what comes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.schema import TableName
from planner.cost import Weights
from planner.incremental import derive
from planner.logical import LogicalQuery
from planner.pace import scheduled, simulated
from planner.pace_knobs import path_knobs
from planner.schedule import Arrivals, Goal, Schedule
from planner.statistics import Statistics, TableStatistics
from planner.weighted import DeltaPlan, NodeBuffer
from tests.randomplans import TABLES, queries

rows = st.floats(0.0, 1e7)
arrivals = st.builds(Arrivals, rows, st.sampled_from((0.0, 1e4)), st.sampled_from((0.0, 1e5)))


@settings(max_examples=150, deadline=None)
@given(
    query=queries(),
    before=rows,
    coming=st.fixed_dictionaries(dict.fromkeys(TABLES, arrivals)),
    share=st.sampled_from((1.0, 0.5, 0.1, 0.01)),
    most=st.integers(1, 20),
    store_joins=st.booleans(),
)
def test_every_schedule_can_be_carried_out(
    query: LogicalQuery,
    before: float,
    coming: dict[TableName, Arrivals],
    share: float,
    most: int,
    store_joins: bool,
) -> None:
    plan = derive(query, tables=TABLES, store_joins=store_joins)
    statistics = Statistics(dict.fromkeys(TABLES, TableStatistics(before)))
    played = simulated(plan, statistics, coming, Weights())
    found = scheduled(played, Goal(share, most), path_knobs(played.paths, played.idle))
    no_path_outpaces_what_feeds_it(found, plan)
    assert [each.path for each in found.paths] == list(played.paths)
    assert all(1 <= each.pace <= most for each in found.paths)
    finals = [each.final_work for each in found.curve]
    assert finals == sorted(finals, reverse=True)
    assert found.final_work <= found.batch_work
    assert np.isfinite([*finals, found.total_work, found.recompute_work]).all()
    assert all(work >= 0.0 for each in found.subplans for work in each.firings)
    last = sum(each.firings[-1] for each in found.subplans)
    assert np.isclose(last, found.final_work)


def no_path_outpaces_what_feeds_it(found: Schedule, plan: DeltaPlan) -> None:
    paces = {each.path: each.pace for each in found.paths}
    for path, pace in paces.items():
        below = [other for each, other in paces.items() if each.writes == path.reads]
        if isinstance(plan.buffers[path.reads], NodeBuffer) and below:
            assert pace <= max(below)
