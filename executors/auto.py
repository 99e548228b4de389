"""Both engines together: small firings run in this process, and all others on Spark.

A firing that turns out not to be for this process, by an expression, its size, an error or the memory it
needs, runs again on Spark, which has the last word. Spark starts when it is first needed.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping

from catalog.errors import Error
from dialect.spark.expressions import Environment
from executors.duckdb.executor import DuckDBExecutor, NotComputed
from executors.executor import Buffers, Engine, Executor, Firing, Outcome
from executors.rows import Schema
from executors.settings import EngineSettings
from executors.spark.executor import SparkEngine
from planner.delta.weighted import DeltaPlan

log = logging.getLogger(__name__)


class AutoEngine:
    """Spark, and DuckDB in this process for what is small."""

    name = "Spark"

    def __init__(self, large: Engine, settings: EngineSettings) -> None:
        self._large = large
        self._small = DuckDBExecutor(settings.in_process_rows, settings.in_process_memory)
        self._needs_large = threading.Event()

    @staticmethod
    def of(settings: EngineSettings) -> AutoEngine:
        """The engine by its settings."""
        return AutoEngine(SparkEngine.of(settings), settings)

    def schemas(self, plan: DeltaPlan, environment: Environment) -> Mapping[int, Schema]:
        """As Spark stores every buffer's columns, so that each firing may run on either.

        Spark begins to start where a subplan is not written for DuckDB: it will be asked for soon.
        """
        schemas = self._large.schemas(plan, environment)
        try:
            for subplan in plan.subplans:
                self._small.statement(subplan, schemas, environment)
        except NotComputed:
            self._needs_large.set()
        return schemas

    def start(self, go_on: Callable[[], bool]) -> AutoExecutor:
        """An executor, for which nothing has to be started yet."""
        return AutoExecutor(self._small, self._large, go_on, self._needs_large)


class AutoExecutor:
    """Tries each firing in this process; `executors/executor.py` says what each method owes."""

    def __init__(
        self,
        small: DuckDBExecutor,
        large: Engine,
        go_on: Callable[[], bool],
        needs_large: threading.Event,
    ) -> None:
        self._small = small
        self._engine = large
        self._go_on = go_on
        self._needs_large = needs_large
        self._large: Executor | None = None
        self._lock = threading.Lock()
        self._spent_by_large = 0.0
        self._waits = False

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """Compute the subplan in this process, or else on Spark."""
        if self._needs_large.is_set() and self._large is None and not self._lock.locked():
            threading.Thread(target=self._start_early, name="start of Spark", daemon=True).start()
        try:
            return self._small.fire(firing, buffers)
        except NotComputed as reason:
            log.debug("a firing is left to %s: %s", self._engine.name, reason)
        large = self._started()
        before = large.processor_seconds()
        own = time.thread_time()
        try:
            return large.fire(firing, buffers)
        finally:
            after = large.processor_seconds()
            if before is not None and after is not None:
                self._spent_by_large += (after - before) - (time.thread_time() - own)

    @property
    def waits_for(self) -> str | None:
        """The engine that is being started, while a firing waits for it."""
        return self._engine.name if self._waits else None

    def warm(self) -> None:
        """Do nothing: Spark is started when it is foreseen that it is needed."""

    def has_ended(self) -> bool:
        """It never ends by itself; Spark may, and is started again when it is needed."""
        if self._large is not None and self._large.has_ended():
            self._large = None
        return False

    def processor_seconds(self) -> float | None:
        """What the asking thread has spent, and Spark for firings; None where others work for Spark."""
        if self._large is not None and self._large.processor_seconds() is None:
            return None
        return time.thread_time() + self._spent_by_large

    def interrupt(self) -> None:
        """End what either does now."""
        self._small.interrupt()
        if self._large is not None:
            self._large.interrupt()

    def close(self) -> None:
        """End both."""
        self._small.close()
        with self._lock:  # a start that nobody waits for any more ends soon
            if self._large is not None:
                self._large.close()

    def _started(self) -> Executor:
        """The executor on Spark, for which whoever needs it waits."""
        self._waits = True
        try:
            with self._lock:
                if self._large is None:
                    self._large = self._engine.start(self._go_on)
                return self._large
        finally:
            self._waits = False

    def _start_early(self) -> None:
        """Start Spark before it is asked for; why it does not start is said to whoever needs it."""
        with contextlib.suppress(Error), self._lock:
            if self._large is None:
                self._large = self._engine.start(self._go_on)
                self._large.warm()
