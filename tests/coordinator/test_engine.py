"""One session for all: what is wanted of it, what nobody wants any more, and its end (G9)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import Row

from coordinator.firing.engine import Cancelled, EngineThread
from executors.executor import Executor
from executors.spark.executor import SparkEngine, SparkExecutor, errors_in_our_words
from executors.spark.session import SparkSettings

pytestmark = pytest.mark.service

DEADLINE_SECONDS = 120
FOR_AGES = "SELECT sum(a.id * b.id) FROM range(10000000) AS a CROSS JOIN range(10000000) AS b"


class Lost(Exception):
    """The one who asks has lost his own connection."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineThread]:
    made = EngineThread(SparkEngine(SparkSettings(tmp_path, "local[2]")))
    yield made
    made.stop()


def rows(executor: Executor, sql: str) -> list[Row]:
    assert isinstance(executor, SparkExecutor)
    with errors_in_our_words():
        return executor.session.sql(sql).collect()


def one(executor: Executor) -> int:
    [row] = rows(executor, "SELECT 1")
    return int(row[0])


def ages(executor: Executor) -> object:
    return rows(executor, FOR_AGES)


def gone() -> bool:
    raise Lost


def test_who_comes_next_does_not_wait_for_what_nobody_wants(engine: EngineThread) -> None:
    with pytest.raises(Cancelled):
        engine.run(ages, lambda: False)
    with pytest.raises(Lost):
        engine.run(ages, gone)
    assert engine.run(one, lambda: True) == 1


def test_its_end_does_not_wait_for_what_it_is_at(engine: EngineThread) -> None:
    begun = threading.Event()

    def work(executor: Executor) -> object:
        begun.set()
        return ages(executor)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(engine.run, work, lambda: True)
        assert begun.wait(DEADLINE_SECONDS)
        second = threads.submit(engine.run, one, lambda: True)
        engine.stop()
        assert isinstance(first.exception(DEADLINE_SECONDS), Cancelled)
        assert isinstance(second.exception(DEADLINE_SECONDS), Cancelled)
