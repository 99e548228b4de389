"""The executor of this process: started when it is first needed, used by one firing at a time."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_outcome
from dataclasses import dataclass
from typing import Final, TypeVar

from catalog.errors import EngineLost, Error
from catalog.queries.arrangements import ArrangementRow
from coordinator.failures import Reports
from coordinator.firing.memory_shares import MemoryShares
from executors.executor import Engine, Executor, StateBudget
from sources.warehouse.warehouse import error_of

log = logging.getLogger(__name__)

Given = TypeVar("Given")

_LOOK_SECONDS: Final = 0.5
_END_SECONDS: Final = 10.0


class Cancelled(Exception):
    """Nobody waits for the outcome any more."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The executor did not start: when that was known, and why."""

    at: float
    error: Error


class EngineThread:
    """One executor for all databases, in a thread of its own that does one piece of work at a time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.shares = MemoryShares()
        self._executor: Executor | None = None
        self._warmed = False
        self._refused: Refused | None = None
        self._reports = Reports(log)
        self._thread = ThreadPoolExecutor(1, "executor")
        self._idle = threading.Event()
        self._idle.set()
        self._stopped = threading.Event()
        self._beside: EngineThread | None = None
        self._beside_lock = threading.Lock()

    @property
    def beside(self) -> EngineThread:
        """A thread that works at the same time: for what may take long. It ends with this one."""
        with self._beside_lock:
            if self._beside is None:
                self._beside = EngineThread(self.engine.beside())
                if self._stopped.is_set():
                    self._beside.stop()
            return self._beside

    def run(self, work: Callable[[Executor], Given], wanted: Callable[[], bool]) -> Given:
        """The outcome of `work`; once `wanted`, which is asked now and then, says no, jobs are cancelled."""
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
    def name(self) -> str:
        """The name that users know the engine by."""
        return self.engine.name

    @property
    def starts(self) -> str | None:
        """What work still has to wait for: the start of the engine, or of a part of it; None once started."""
        return self.name if self._executor is None else self._executor.waits_for

    def kept(self, folder: str) -> Sequence[ArrangementRow]:
        """The rows of buffers below a folder that are kept to be looked up."""
        executor = self._executor
        return () if executor is None else executor.kept(folder)

    def allow(self, states: StateBudget) -> None:
        """Keep no more for a query than this."""
        if (executor := self._executor) is not None:
            executor.allow(states)

    def warm(self) -> None:
        """Start the executor before there is work, so that the first work need not wait."""
        if not self._warmed:
            self._warmed = True
            with contextlib.suppress(Cancelled):
                self._submit(lambda executor: executor.warm())

    def foresee(self, engines: Collection[str]) -> None:
        """Have these engines started in the background, as far as they are not."""
        self.engine.foresee(engines)
        if self._executor is not None:
            with contextlib.suppress(Cancelled):
                self._submit(lambda executor: executor.warm())

    def stop(self) -> None:
        """End the executor, if it was started, and its work; in order if that takes no time."""
        self._stopped.set()
        with self._beside_lock:
            if self._beside is not None:
                self._beside.stop()
        self._thread.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + _END_SECONDS
        while not self._idle.wait(_LOOK_SECONDS) and time.monotonic() < end:
            self._interrupt()
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.close()

    def _submit(self, work: Callable[[Executor], Given]) -> Future[Given]:
        """Hand work to the thread; while it is stopped, the caller is stopped as well."""
        try:
            return self._thread.submit(self._do, work, time.monotonic())
        except RuntimeError:
            if self._stopped.is_set():
                raise Cancelled from None
            raise

    def _do(self, work: Callable[[Executor], Given], asked: float) -> Given:
        self._idle.clear()
        try:
            if self._stopped.is_set():
                raise Cancelled
            if self._executor is not None and self._executor.has_ended():
                self._executor = None  # it ended while it had no work
            if self._executor is None:
                self._executor = self._start(asked)
            return work(self._executor)
        except Exception as error:
            if self._stopped.is_set():
                raise Cancelled from None  # the executor has been closed meanwhile
            if isinstance(error, EngineLost):
                self._executor = None
            if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                raise error_of(error) from error
            raise
        finally:
            self._idle.set()

    def _start(self, asked: float) -> Executor:
        """Start an executor; those who asked before a failed start are told of the failure."""
        if self._refused is not None and self._refused.at >= asked:
            raise self._refused.error
        try:
            executor = self.engine.start(lambda: not self._stopped.is_set())
        except Error as error:
            if not self._stopped.is_set():
                self._refused = Refused(time.monotonic(), error)
                self._reports.say(f"{self.name} does not work", error)
            raise
        self._refused = None
        self._reports.clear()
        return executor

    def _waits_in_vain(self, outcome: Future[Given], wanted: Callable[[], bool]) -> bool:
        """Whether the outcome became unwanted before it was there."""
        while not wait_for_outcome([outcome], _LOOK_SECONDS).done:
            if self._stopped.is_set() or not wanted():
                return True
        return False

    def _end(self, outcome: Future[Given]) -> None:
        """Interrupt the work again and again, because between two jobs there is nothing to interrupt."""
        while not outcome.cancel() and not wait_for_outcome([outcome], _LOOK_SECONDS).done:
            self._interrupt()

    def _interrupt(self) -> None:
        if self._executor is not None:
            self._executor.interrupt()
