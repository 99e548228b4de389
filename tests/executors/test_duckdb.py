"""Firings in this process: whatever the plan, each writes what the definition writes, or is left to Spark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from dialect.expressions.environment import DEFAULT
from executors.duckdb.arrangements import Room
from executors.duckdb.executor import DuckDBExecutor
from executors.duckdb.stepping import NotComputed
from executors.executor import Buffers, Firing, Outcome, StateBudget
from executors.reference.executor import ReferenceExecutor
from executors.reference.firing import Changes
from executors.rows import Schema, name_of
from executors.spark.executor import spark_schemas
from planner.algebra.logical import LogicalQuery
from planner.delta.derive import derive
from planner.delta.methods import Method
from planner.delta.weighted import Subplan
from planner.firing.states import Lookup, looked_up_keys
from sources.warehouse.warehouse import Warehouse
from tests.support.planning.random_plans import commits, queries
from tests.support.planning.replay import Replay
from tests.support.spark.logs_in_files import LogsInFiles
from tests.support.spark.side_by_side import Logs, SideBySide

METHODS = [
    (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE),
    (Method.COMBINE, Method.RECOMPUTE),
    (Method.RECOMPUTE,),
]
LEAST_COMPUTED = 0.5
"""So many of the firings are computed in this process: the rest have floats or averages in them."""


class OrByDefinition(ReferenceExecutor):
    """Computes in this process; what is left to Spark, by definition; counts both."""

    def __init__(self, small: DuckDBExecutor) -> None:
        super().__init__()
        self.small = small
        self.counts: Counter[str] = Counter()

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        try:
            outcome = self.small.fire(firing, buffers)
        except NotComputed as reason:
            self.counts[str(reason)[:100]] += 1
            return super().fire(firing, buffers)
        self.counts["computed"] += 1
        return outcome


def test_firings_write_what_the_definition_writes(tmp_path: Path) -> None:
    executor = OrByDefinition(DuckDBExecutor(1000, 2**28, Room(tmp_path, 2**28)))
    play(executor, Logs, settings(max_examples=150, deadline=None))
    assert executor.counts["computed"] > LEAST_COMPUTED * executor.counts.total()


@pytest.mark.parametrize("is_arranged", [False, True], ids=["held", "arranged"])
def test_whatever_is_kept_of_files(tmp_path: Path, is_arranged: bool) -> None:
    """Files are read by several firings, as a whole and in part, and are merged meanwhile."""
    room = Room(tmp_path, 2**28, fewest_rows=0, is_compared=True) if is_arranged else Room(tmp_path, 0)
    executor = OrByDefinition(DuckDBExecutor(1000, 2**28, room, fewest_held_rows=0))
    in_files = partial(LogsInFiles, warehouse=Warehouse(str(tmp_path)))
    play(executor, in_files, settings(max_examples=100, deadline=None))
    assert executor.counts["computed"] > LEAST_COMPUTED * executor.counts.total()


class WithBudgets(OrByDefinition):
    """Each firing may keep another number of bytes, and has to do without other states."""

    random = Random(43)

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        names = [
            (f"node-{buffers.query}-{buffer}", frozenset(name_of(column) for column in columns))
            for buffer, columns in sorted(_lookups(firing.subplan), key=str)
            if isinstance(buffers, LogsInFiles)
        ]
        dropped = frozenset(name for name in names if self.random.random() < 0.4)
        most = self.random.choice((0.0, 500.0, 5000.0, math.inf))
        return super().fire(replace(firing, states=StateBudget("q", most, dropped)), buffers)


def _lookups(subplan: Subplan) -> frozenset[Lookup]:
    keyed = looked_up_keys(subplan)
    return frozenset((buffer, columns) for (buffer, _), keys in keyed.items() for columns in keys)


def test_whatever_a_query_may_keep(tmp_path: Path) -> None:
    room = Room(tmp_path, 2**28, fewest_rows=0, is_compared=True)
    executor = WithBudgets(DuckDBExecutor(1000, 2**28, room, fewest_held_rows=0))
    in_files = partial(LogsInFiles, warehouse=Warehouse(str(tmp_path)))
    play(executor, in_files, settings(max_examples=100, deadline=None))
    assert executor.counts["computed"] > LEAST_COMPUTED * executor.counts.total()


def play(
    executor: OrByDefinition,
    buffers: Callable[[Replay, Mapping[int, Schema]], Buffers],
    examples: settings,
) -> None:
    """Random plans by random methods, after each of some random commits."""

    @examples
    @given(query=queries(), changes=commits(4), methods=st.sampled_from(METHODS))
    def play_one(
        query: LogicalQuery, changes: list[dict[TableName, Changes]], methods: tuple[Method, ...]
    ) -> None:
        plan = derive(query, methods)
        running = SideBySide(executor, plan, spark_schemas(plan, DEFAULT), buffers=buffers)
        running.fire_all()
        for commit in changes:
            running.replay.commit(commit)
            running.fire_all()

    play_one()
