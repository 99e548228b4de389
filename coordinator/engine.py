"""The Spark session of this process: made when it is first needed, used by one firing at a time."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_outcome
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pyspark.sql import SparkSession

from catalog.errors import ConfigurationError, EngineFailed, EngineLost, Error
from coordinator.failures import Reports
from coordinator.orders import Orders
from executors.spark.failures import FAILURES, MORE_MEMORY, as_error, first_line
from executors.spark.session import (
    BROKEN,
    SparkSettings,
    close_session,
    forget_session,
    has_driver,
    open_session,
)
from sources.warehouse import FULL, error_of

log = logging.getLogger(__name__)

Outcome = TypeVar("Outcome")

_LOOK_SECONDS: Final = 0.5
_END_SECONDS: Final = 10.0

_ANYTHING: Final = """
    SELECT a.id % 3, sum(b.id) AS total FROM range(8) AS a JOIN range(8) AS b ON a.id = b.id
    GROUP BY a.id % 3 HAVING sum(b.id) <> 0
"""


class Cancelled(Exception):
    """Nobody wants the outcome any more."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Spark did not start: when that was known, and why."""

    at: float
    error: Error


def spark_settings(orders: Orders) -> SparkSettings:
    """Where Spark runs: on this machine unless told otherwise."""
    return SparkSettings(
        Path(orders.scratch), orders.spark_master or "local[*]", orders.spark_remote, orders.spark_memory
    )


def _warm(session: SparkSession) -> None:
    """Have Java load what every firing needs."""
    session.sql(_ANYTHING).toArrow()


def _refusal(error: Exception) -> Error:
    """Why there is no session, of whatever kind the error is."""
    match error:
        case Error():
            return error
        case OSError() if not isinstance(error, ConnectionError):
            return error_of(error)
        case _:
            hint = "It is tried again by itself."
            return ConfigurationError("Spark does not start", detail=first_line(error), hint=hint)


class Engine:
    """One session for all databases, in a thread of its own; what is asked of it is done in turn."""

    def __init__(self, settings: SparkSettings) -> None:
        self._settings = settings
        self._session: SparkSession | None = None
        self._warmed = False
        self._refused: Refused | None = None
        self._reports = Reports(log)
        self._thread = ThreadPoolExecutor(1, "spark")
        self._idle = threading.Event()
        self._idle.set()
        self._stopped = threading.Event()

    def run(self, work: Callable[[SparkSession], Outcome], wanted: Callable[[], bool]) -> Outcome:
        """What `work` gives; `wanted` is asked now and then, and once it says no, jobs are cancelled."""
        outcome = self._submit(work)
        unwanted = True
        try:
            unwanted = self._waits_in_vain(outcome, wanted)
        finally:
            if unwanted:
                self._end(outcome)
        if unwanted and (outcome.cancelled() or outcome.exception() is not None):
            raise Cancelled
        return outcome.result()

    @property
    def starts(self) -> bool:
        """Whether whatever is asked of it has to wait until Spark has started."""
        return self._session is None

    def warm(self) -> None:
        """Begin before anything is asked of it: what is asked first needs not wait for Java to start."""
        if not self._warmed:
            self._warmed = True
            with contextlib.suppress(Cancelled):
                self._submit(_warm)

    def stop(self) -> None:
        """End Spark, where it was begun, and what it is at, in order if that is soon."""
        self._stopped.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + _END_SECONDS
        while not self._idle.wait(_LOOK_SECONDS) and time.monotonic() < end:
            self._interrupt()
        session, self._session = self._session, None
        if session is not None:
            close_session(session)

    def _submit(self, work: Callable[[SparkSession], Outcome]) -> Future[Outcome]:
        """Who asks while it is stopped is stopped as well."""
        try:
            return self._thread.submit(self._do, work, time.monotonic())
        except RuntimeError:
            if self._stopped.is_set():
                raise Cancelled from None
            raise

    def _do(self, work: Callable[[SparkSession], Outcome], asked: float) -> Outcome:
        self._idle.clear()
        try:
            if self._stopped.is_set():
                raise Cancelled
            if self._session is not None and not has_driver(seconds=0):
                self._forget()  # it ended while nothing was asked of it
            if self._session is None:
                self._session = self._start(asked)
            return work(self._session)
        except BROKEN as error:
            if self._stopped.is_set():
                raise Cancelled from None  # the session has been closed meanwhile
            if isinstance(error, OSError) and error.errno in FULL:
                raise error_of(error) from error
            if not has_driver():
                self._forget()
                raise EngineLost(
                    "the process of Spark has ended",
                    detail="It may have needed more memory than there is.",
                    hint=MORE_MEMORY,
                ) from error
            if isinstance(error, FAILURES):
                raise as_error(error) or EngineFailed(f"Spark cannot do this: {first_line(error)}") from error
            if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                raise error_of(error) from error
            raise
        finally:
            self._idle.set()

    def _start(self, asked: float) -> SparkSession:
        """Who asked before it was known that Spark does not start is told so: nothing is tried for that."""
        if self._refused is not None and self._refused.at >= asked:
            raise self._refused.error
        try:
            session = open_session(self._settings, lambda: not self._stopped.is_set())
        except (Error, *BROKEN) as error:
            if self._stopped.is_set():
                raise Cancelled from None
            told = _refusal(error)
            self._refused = Refused(time.monotonic(), told)
            self._reports.say("Spark does not work", told)
            raise told from None
        self._refused = None
        self._reports.clear()
        return session

    def _forget(self) -> None:
        self._session = None
        forget_session()

    def _waits_in_vain(self, outcome: Future[Outcome], wanted: Callable[[], bool]) -> bool:
        """Whether somebody ceased to want the outcome before it was there."""
        while not wait_for_outcome([outcome], _LOOK_SECONDS).done:
            if self._stopped.is_set() or not wanted():
                return True
        return False

    def _end(self, outcome: Future[Outcome]) -> None:
        """Again and again: between two jobs there is nothing to interrupt."""
        while not outcome.cancel() and not wait_for_outcome([outcome], _LOOK_SECONDS).done:
            self._interrupt()

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.interruptAll()
