"""The delta plans of TPC-H as recorded (REWRITE=1 records them), and what is shared and stored in some."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from catalog.postgres.schema import TableName
from planner.algebra.statistics import Statistics, TableStatistics
from planner.delta.derive import derive
from planner.delta.weighted import DeltaPlan, NodeBuffer
from planner.explain.delta_text import delta_text
from planner.plan import Planned, plan
from tests.support.binding.cases import Snapshot, read_snapshot, recorded
from tests.support.planning.cases import FOLDER, QUERIES, bound
from tests.support.recording import assert_as_recorded

RECORDED = FOLDER / "delta"
ROWS = {
    "lineitem": 6_000_000.0,
    "orders": 1_500_000.0,
    "partsupp": 800_000.0,
    "part": 200_000.0,
    "customer": 150_000.0,
    "supplier": 10_000.0,
    "nation": 25.0,
    "region": 5.0,
}


@functools.cache
def snapshot() -> Snapshot:
    return read_snapshot()


def planned(name: str) -> Planned:
    """A query of TPC-H, planned for tables of its first scale."""
    known = snapshot()
    [case] = recorded(QUERIES / f"{name}.bound")
    sizes = {TableName("tpch", table): TableStatistics(rows) for table, rows in ROWS.items()}
    return plan(bound(case, known), known.tables, Statistics(sizes))


@pytest.mark.parametrize("path", sorted(QUERIES.glob("*.bound")), ids=lambda path: path.stem)
def test_delta_plans_are_as_recorded(path: Path) -> None:
    assert_as_recorded(RECORDED / f"{path.stem}.delta", delta_text(planned(path.stem).delta))


def stored(plan: DeltaPlan) -> list[str]:
    """What the nodes are that have buffers."""
    return [buffer.what for buffer in plan.buffers if isinstance(buffer, NodeBuffer)]


def test_a_common_table_that_is_read_twice_is_worked_once() -> None:
    assert stored(planned("q15").delta).count("aggregate") == 2  # the revenues, and the greatest of them


def test_joins_need_not_be_stored() -> None:
    query = planned("q05").optimised
    assert stored(derive(query)) == ["aggregate", "result"]
    assert stored(derive(query, store_joins=True)) == [*["inner join"] * 4, "aggregate", "result"]
