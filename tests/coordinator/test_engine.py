"""One session for all: what is wanted of it, what nobody wants any more, and its end (G9)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import Row

from catalog.errors import EngineLost
from coordinator.firing.engine import Cancelled, EngineThread
from executors.executor import Executor
from executors.spark.executor import SparkEngine, SparkExecutor, errors_in_our_words
from executors.spark.session import SparkSettings

pytestmark = pytest.mark.service

DEADLINE_SECONDS = 120
FOR_AGES = (
    "SELECT sum(a.id * b.id) FROM range(0, 10000000, 1, 2) AS a CROSS JOIN range(0, 10000000, 1, 1) AS b"
)
"""By as many tasks as there are processors, on a machine with two."""


class Lost(Exception):
    """The one who asks has lost his own connection."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineThread]:
    made = EngineThread(SparkEngine(SparkSettings(tmp_path, "local[3]")))
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


def test_what_is_done_beside_does_not_make_others_wait(engine: EngineThread) -> None:
    """It is interrupted by itself, has its own views, and its end is not that of the others."""
    begun, unwanted = threading.Event(), threading.Event()

    def work(executor: Executor) -> object:
        rows(executor, "CREATE TEMPORARY VIEW apart AS SELECT 1")
        begun.set()
        return ages(executor)

    def views(executor: Executor) -> int:
        return len(rows(executor, "SHOW VIEWS"))

    with ThreadPoolExecutor(1) as threads:
        long = threads.submit(engine.beside.run, work, lambda: not unwanted.is_set())
        try:
            assert begun.wait(DEADLINE_SECONDS)
            assert [engine.run(one, lambda: True) for _ in range(3)] == [1, 1, 1]
            assert engine.run(views, lambda: True) == 0
            with pytest.raises(Cancelled):
                engine.run(ages, lambda: False)
            assert not long.done()
        finally:
            unwanted.set()
        assert isinstance(long.exception(DEADLINE_SECONDS), Cancelled)
    engine.beside.stop()
    assert engine.run(one, lambda: True) == 1


def test_the_one_beside_starts_again_when_java_has_ended(engine: EngineThread) -> None:
    assert (engine.beside.run(one, lambda: True), engine.run(one, lambda: True)) == (1, 1)
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.proc.kill()
    gateway.proc.wait()
    with suppress(EngineLost):
        engine.beside.run(one, lambda: True)
    assert (engine.run(one, lambda: True), engine.beside.run(one, lambda: True)) == (1, 1)
