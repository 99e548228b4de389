"""Firings in this process: whatever the plan, each writes what the definition writes, or is left to Spark."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from catalog.errors import NotMaintainable
from catalog.postgres.schema import TableName
from dialect.spark.expressions import DEFAULT
from executors.duckdb.executor import DuckDBExecutor, NotComputed
from executors.executor import Buffers, Firing, Outcome
from executors.reference.executor import ReferenceExecutor
from executors.reference.firing import Changes
from executors.spark.executor import spark_schemas
from planner.algebra.logical import LogicalQuery
from planner.delta.derive import derive
from planner.delta.methods import Method
from tests.support.planning.random_plans import commits, queries
from tests.support.spark.side_by_side import SideBySide

METHODS = [
    (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE),
    (Method.COMBINE, Method.RECOMPUTE),
    (Method.RECOMPUTE,),
]
LEAST_COMPUTED = 0.5
"""So many of the firings are computed in this process: the rest have floats or averages in them."""


class OrByDefinition(ReferenceExecutor):
    """Computes in this process; what is left to Spark, by definition; counts both."""

    def __init__(self) -> None:
        super().__init__()
        self.small = DuckDBExecutor(most_rows=1000, most_bytes=2**28)
        self.counts: Counter[str] = Counter()

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        try:
            outcome = self.small.fire(firing, buffers)
        except NotComputed as reason:
            self.counts[str(reason)[:100]] += 1
            return super().fire(firing, buffers)
        self.counts["computed"] += 1
        return outcome


def test_firings_write_what_the_definition_writes() -> None:
    executor = OrByDefinition()

    @settings(max_examples=150, deadline=None)
    @given(query=queries(), changes=commits(2), methods=st.sampled_from(METHODS))
    def play(
        query: LogicalQuery, changes: list[dict[TableName, Changes]], methods: tuple[Method, ...]
    ) -> None:
        plan = derive(query, methods)
        try:
            schemas = spark_schemas(plan, DEFAULT)
        except NotMaintainable:  # such as an average of distinct floats: no engine is asked for it
            reject()
        running = SideBySide(executor, plan, schemas)
        running.fire_all()
        for commit in changes:
            running.replay.commit(commit)
            running.fire_all()

    play()
    assert executor.counts["computed"] > LEAST_COMPUTED * executor.counts.total()
