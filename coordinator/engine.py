"""The Spark session of this process: made when it is first needed, used by one firing at a time."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_outcome
from pathlib import Path
from typing import Final, TypeVar

from pyspark.sql import SparkSession

from catalog.errors import DiskFull, EngineFailed, EngineLost
from coordinator.orders import Orders
from executors.spark.failures import FAILURES, MORE_MEMORY, first_line
from executors.spark.session import (
    BROKEN,
    SparkSettings,
    close_session,
    forget_session,
    has_driver,
    open_session,
)

Outcome = TypeVar("Outcome")

FULL: Final = (errno.ENOSPC, errno.EDQUOT)

_LOOK_SECONDS: Final = 0.5
_END_SECONDS: Final = 10.0

_ANYTHING: Final = """
    SELECT a.id % 3, sum(b.id) AS total FROM range(8) AS a JOIN range(8) AS b ON a.id = b.id
    GROUP BY a.id % 3 HAVING sum(b.id) <> 0
"""


class Cancelled(Exception):
    """Nobody wants the outcome any more."""


def spark_settings(orders: Orders) -> SparkSettings:
    """Where Spark runs: on this machine unless told otherwise."""
    return SparkSettings(
        Path(orders.scratch), orders.spark_master or "local[*]", orders.spark_remote, orders.spark_memory
    )


def _warm(session: SparkSession) -> None:
    """Have Java load what every firing needs."""
    session.sql(_ANYTHING).toArrow()


class Engine:
    """One session for all databases, in a thread of its own; what is asked of it is done in turn."""

    def __init__(self, settings: SparkSettings) -> None:
        self._settings = settings
        self._session: SparkSession | None = None
        self._warmed = False
        self._thread = ThreadPoolExecutor(1, "spark")
        self._idle = threading.Event()
        self._idle.set()
        self._stopped = threading.Event()

    def run(self, work: Callable[[SparkSession], Outcome], wanted: Callable[[], bool]) -> Outcome:
        """What `work` gives; `wanted` is asked now and then, and once it says no, jobs are cancelled."""
        outcome = self._thread.submit(self._do, work)
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
            self._thread.submit(self._do, _warm)

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

    def _do(self, work: Callable[[SparkSession], Outcome]) -> Outcome:
        self._idle.clear()
        try:
            if self._stopped.is_set():
                raise Cancelled
            if self._session is not None and not has_driver(seconds=0):
                self._forget()  # it ended while nothing was asked of it
            if self._session is None:
                self._session = open_session(self._settings)
            return work(self._session)
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno in FULL:
                raise DiskFull(
                    "the disk of the warehouse is full",
                    detail=str(error),
                    hint="Free space there; nothing is lost.",
                ) from error
            if not has_driver():
                self._forget()
                raise EngineLost(
                    "the process of Spark has ended",
                    detail="It may have needed more memory than there is.",
                    hint=MORE_MEMORY,
                ) from error
            if isinstance(error, FAILURES):
                raise EngineFailed(f"Spark cannot do this: {first_line(error)}") from error
            raise
        finally:
            self._idle.set()

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
