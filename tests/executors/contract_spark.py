"""What Spark owes besides, where tasks fail or are slow; test_executor_contract.py says where it is run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from executors.engines import ENGINES
from executors.executor import Part
from executors.rows import WEIGHT, name_of
from executors.settings import EngineSettings
from executors.spark.compile.subplan import Statement
from executors.spark.executor import SparkExecutor
from executors.spark.firing import run
from executors.sql.nodes import view_of
from planner.delta.weighted import Moment
from tests.executors.contract_firings import MANY, NUMBERS, READ, Rows, firing, numbers

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    place, directory = os.environ["GAVIAL_TEST_EXECUTOR"], tmp_path_factory.mktemp("executor")
    is_remote = place.startswith("sc://")
    settings = EngineSettings(directory, None if is_remote else place, place if is_remote else None, 1 << 30)
    executor = ENGINES["spark"](settings).start(lambda: True)
    assert isinstance(executor, SparkExecutor)
    yield executor.session
    executor.close()


def computed(session: SparkSession, value: str, *parts: Part) -> pa.Table:
    """A value for each row, by a statement."""
    sql = f"SELECT {value} AS {name_of(1)}, {WEIGHT} FROM {view_of(0, Moment.CHANGE)}"
    statement = Statement(sql, ((0, Moment.CHANGE),))
    return run(session, statement, firing(READ, NUMBERS, NUMBERS), Rows(*parts), MANY).rows


def test_a_task_that_is_tried_again_counts_once(session: SparkSession, tmp_path: Path) -> None:
    """In each process the first task to ask fails: the property was not set before."""
    name = f"gavial.{time.monotonic_ns()}"
    asked = f"CASE WHEN c1 = 5 THEN reflect('java.lang.System', 'setProperty', '{name}', 'asked') ELSE '' END"
    failing = f"CASE WHEN {asked} IS NULL THEN raise_error('once') ELSE c1 END"
    assert sorted(computed(session, failing, *numbers(tmp_path))["c1"].to_pylist()) == list(range(MANY))


def test_a_task_that_is_run_twice_counts_once(session: SparkSession, tmp_path: Path) -> None:
    """One is so slow that, where that is done, another is begun beside it."""
    slow = "CASE WHEN c1 = 5 THEN reflect('java.lang.Thread', 'sleep', 3000L) ELSE '' END"
    value = f"CASE WHEN {slow} IS NULL THEN c1 ELSE c1 END"
    assert sorted(computed(session, value, *numbers(tmp_path))["c1"].to_pylist()) == list(range(MANY))
