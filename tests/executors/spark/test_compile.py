"""Delta plans on Spark: whatever the plan, each firing writes what the definition writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from catalog.postgres.schema import TableName
from dialect.expressions.environment import DEFAULT
from executors.reference.firing import Changes
from executors.spark.executor import SparkExecutor, spark_schemas
from executors.spark.session import SparkSettings, close_session, open_session
from planner.algebra.logical import LogicalQuery
from planner.delta.derive import derive
from planner.delta.methods import Method
from tests.support.planning.random_plans import commits, queries
from tests.support.spark.side_by_side import SideBySide

pytestmark = pytest.mark.service

METHODS = [
    (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE),
    (Method.COMBINE, Method.RECOMPUTE),
    (Method.RECOMPUTE,),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=queries(), changes=commits(2), methods=st.sampled_from(METHODS), small_change=st.booleans())
def test_firings_write_what_the_definition_writes(
    session: SparkSession,
    query: LogicalQuery,
    changes: list[dict[TableName, Changes]],
    methods: tuple[Method, ...],
    small_change: bool,
) -> None:
    plan = derive(query, methods)
    executor = SparkExecutor(session) if small_change else SparkExecutor(session, broadcast_rows=-1)
    running = SideBySide(executor, plan, spark_schemas(plan, DEFAULT))
    running.fire_all()
    for commit in changes:
        running.replay.commit(commit)
        running.fire_all()
