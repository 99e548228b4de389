"""A Spark that does not start, and one that is asked while it is stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from catalog.errors import ConfigurationError, DiskFull, Error, InputOutputError
from coordinator.firing.engine import Cancelled, EngineThread
from executors.executor import Executor
from executors.reference.executor import ReferenceEngine, ReferenceExecutor
from executors.spark import shared_session
from executors.spark.executor import SparkEngine
from executors.spark.session import SparkSettings

DEADLINE_SECONDS = 60


def forever() -> bool:
    return True


def nothing(_executor: Executor) -> None:
    raise AssertionError("there is no executor")


class Opening:
    """Stands for `open_session`: begins, waits until it may fail, and counts."""

    def __init__(self, error: Exception) -> None:
        self.error, self.count = error, 0
        self.begun, self.may_fail = threading.Event(), threading.Event()

    def __call__(self, _settings: SparkSettings, go_on: Callable[[], bool]) -> SparkSession:
        self.count += 1
        self.begun.set()
        while go_on() and not self.may_fail.wait(0.01):
            pass
        raise self.error


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Opening:
    made = Opening(ConfigurationError("Spark does not start", detail="No Java."))
    monkeypatch.setattr(shared_session, "open_session", made)
    return made


def test_one_attempt_is_for_all_who_asked_before_it_failed(
    tmp_path: Path, opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    """The first to ask may be nobody who waits."""
    caplog.set_level(logging.ERROR)
    engine = EngineThread(SparkEngine(SparkSettings(tmp_path)))
    engine.warm()
    assert opening.begun.wait(DEADLINE_SECONDS)
    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(engine.run, nothing, forever) for _ in range(3)]
        while engine._thread._work_queue.qsize() < 3:
            time.sleep(0.01)
        opening.may_fail.set()
        for outcome in asked:
            assert outcome.exception(DEADLINE_SECONDS) is opening.error
    assert opening.count == 1
    with pytest.raises(ConfigurationError):
        engine.run(nothing, forever)
    assert opening.count == 2
    assert [record.getMessage() for record in caplog.records] == [
        "Spark does not work: Spark does not start: No Java"
    ]
    engine.stop()


def test_another_engine_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class Absent(ReferenceEngine):
        name = "the abacus"

        def start(self, _go_on: Callable[[], bool]) -> ReferenceExecutor:
            raise ConfigurationError("it has no beads")

    engine = EngineThread(Absent())
    assert engine.starts == "the abacus"
    with pytest.raises(ConfigurationError):
        engine.run(nothing, forever)
    assert caplog.messages == ["the abacus does not work: it has no beads"]
    engine.stop()


def test_an_engine_that_has_started_is_waited_for_by_nobody() -> None:
    engine = EngineThread(ReferenceEngine())
    assert engine.starts == "plain Python"
    engine.run(lambda executor: executor.warm(), forever)
    assert engine.starts is None
    engine.stop()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), DiskFull),
        (PermissionError(13, "Permission denied"), InputOutputError),
        (ConnectionRefusedError(111, "Connection refused"), ConfigurationError),
        (PySparkRuntimeError("no such server"), ConfigurationError),
    ],
)
def test_whatever_keeps_it_from_starting_is_told_in_an_error_of_ours(
    tmp_path: Path, opening: Opening, error: Exception, told: type[Error]
) -> None:
    opening.error = error
    opening.may_fail.set()
    engine = EngineThread(SparkEngine(SparkSettings(tmp_path)))
    with pytest.raises(told) as caught:
        engine.run(nothing, forever)
    assert caught.value.hint
    engine.stop()


def test_who_asks_while_it_is_stopped_is_cancelled(tmp_path: Path, opening: Opening) -> None:
    engine = EngineThread(SparkEngine(SparkSettings(tmp_path)))
    with ThreadPoolExecutor(1) as threads:
        starting = threads.submit(engine.run, nothing, forever)
        assert opening.begun.wait(DEADLINE_SECONDS)
        engine.stop()
        assert isinstance(starting.exception(DEADLINE_SECONDS), Cancelled)
    with pytest.raises(Cancelled):
        engine.run(nothing, forever)
    engine.warm()
