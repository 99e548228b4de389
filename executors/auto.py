"""Both engines together: each firing runs on the one that is asked for, in this process or on Spark.

A firing that turns out not to be for this process, by an expression, its size, an error or the memory it
needs, runs again on Spark, which has the last word. Spark starts when it is foreseen or first needed.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from catalog.errors import Error
from catalog.queries.arrangements import ArrangementRow
from dialect.expressions.environment import Environment
from executors.duckdb.abilities import keeping, limits, row_bytes, statements, unwritten
from executors.duckdb.arrangements import Room
from executors.duckdb.contents import FEWEST_ROWS
from executors.duckdb.executor import DuckDBExecutor
from executors.duckdb.stepping import GaveUp, NotComputed, OutOfMemory
from executors.executor import Buffers, Engine, Executor, Firing, Outcome, StateBudget
from executors.machine import default_memory_budget
from executors.rows import Schema
from executors.settings import EngineSettings
from executors.spark.executor import SparkEngine
from planner.cost.engines import EngineLimits
from planner.delta.weighted import DeltaPlan, Subplan

log = logging.getLogger(__name__)

_KEPT_SUBPLANS: Final = 1000


class AutoEngine(Engine):
    """Spark, and DuckDB in this process for what fits its memory and is cheaper there."""

    name = "DuckDB and Spark"

    def __init__(self, spark: Engine, settings: EngineSettings, fewest_held_rows: int = FEWEST_ROWS) -> None:
        self._spark = spark
        self._settings = settings
        self._most_rows = math.inf if settings.in_process_rows is None else float(settings.in_process_rows)
        self._most_bytes = settings.in_process_memory
        budget = settings.memory_budget
        self._memory_budget = default_memory_budget() if budget is None else budget
        room = Room(settings.scratch, self._memory_budget)
        self._in_process = DuckDBExecutor(self._most_rows, self._most_bytes, room, fewest_held_rows)
        self._needs_spark = threading.Event()

    @staticmethod
    def of(settings: EngineSettings) -> AutoEngine:
        """The engine by its settings."""
        return AutoEngine(SparkEngine.of(settings), settings)

    def schemas(self, plan: DeltaPlan, environment: Environment) -> Mapping[int, Schema]:
        """As Spark stores every buffer's columns, so that each firing may run on either."""
        return self._spark.schemas(plan, environment)

    def engines(
        self, plan: DeltaPlan, schemas: Mapping[int, Schema], environment: Environment
    ) -> tuple[EngineLimits, ...]:
        """DuckDB for what is written for it and fits its memory, and Spark; that alone if no rows may."""
        spark = self._spark.engines(plan, schemas, environment)
        if self._most_rows == 0:
            return spark
        written = statements(plan, schemas, environment)
        in_process = replace(
            limits(self._most_rows, self._most_bytes),
            unable=unwritten(written),
            row_bytes=row_bytes(plan, schemas),
            keeping=keeping(written, schemas, self._memory_budget),
        )
        return (in_process, *spark)

    def foresee(self, engines: Collection[str]) -> None:
        """Have Spark started before the first firing on it is asked for."""
        if self._spark.name in engines:
            self._needs_spark.set()

    def beside(self) -> AutoEngine:
        """The same bounds again, for another thread; nothing is kept to be read again."""
        settings = replace(self._settings, memory_budget=0)
        return AutoEngine(self._spark.beside(), settings, fewest_held_rows=sys.maxsize)

    def start(self, go_on: Callable[[], bool]) -> AutoExecutor:
        """An executor, for which nothing has to be started yet; only the directory has to be there."""
        self._settings.scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        return AutoExecutor(self._in_process, self._spark, go_on, self._needs_spark)


class AutoExecutor(Executor):
    """Tries each firing in this process; `executors/executor.py` says what each method owes."""

    def __init__(
        self,
        in_process: DuckDBExecutor,
        spark: Engine,
        go_on: Callable[[], bool],
        needs_spark: threading.Event,
    ) -> None:
        self._in_process = in_process
        self._engine = spark
        self._go_on = go_on
        self._needs_spark = needs_spark
        self._spark: Executor | None = None
        self._lock = threading.Lock()
        self._spent_by_spark = 0.0
        self._is_starting = False
        self._too_many_rows: dict[Subplan, int] = {}

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """Compute the subplan by the engine that is asked for; without one, in this process if that can.

        While Spark has not started, what is asked of it is tried in this process first: nobody should wait
        for Java in vain.
        """
        is_for_spark = firing.engine == self._engine.name
        if is_for_spark:
            self._needs_spark.set()
        self.warm()
        if is_for_spark and self._spark is not None:
            return self._fire_on_spark(firing, buffers)
        try:
            outcome = self._fire_in_process(firing, buffers)
        except NotComputed as error:
            log.debug("a firing is left to %s: %s", self._engine.name, error)
            outcome = self._fire_on_spark(firing, buffers)
            reason = "" if is_for_spark else str(error)
            return replace(outcome, reason=reason, repeated=isinstance(error, GaveUp))
        return replace(outcome, reason=f"{self._engine.name} has not started") if is_for_spark else outcome

    def _fire_in_process(self, firing: Firing, buffers: Buffers) -> Outcome:
        """Compute it in this process, unless as many rows were too many for the memory before."""
        rows = firing.rows_in(buffers)
        if rows >= self._too_many_rows.get(firing.subplan, math.inf):
            raise NotComputed(f"{rows} changed rows needed more memory than --in-process-memory before")
        try:
            return self._in_process.fire(firing, buffers)
        except OutOfMemory:
            if len(self._too_many_rows) >= _KEPT_SUBPLANS:
                self._too_many_rows.clear()
            self._too_many_rows[firing.subplan] = rows
            raise

    def _fire_on_spark(self, firing: Firing, buffers: Buffers) -> Outcome:
        spark = self._started()
        before = spark.processor_seconds()
        own = time.thread_time()
        try:
            return spark.fire(firing, buffers)
        finally:
            after = spark.processor_seconds()
            if before is not None and after is not None:
                self._spent_by_spark += (after - before) - (time.thread_time() - own)

    @property
    def waits_for(self) -> str | None:
        """The engine that is being started, while a firing waits for it."""
        return self._engine.name if self._is_starting else None

    def warm(self) -> None:
        """Begin to start Spark, where it is foreseen that it is needed."""
        if self._needs_spark.is_set() and self._spark is None and not self._lock.locked():
            threading.Thread(target=self._start_early, name="start of Spark", daemon=True).start()

    def has_ended(self) -> bool:
        """It never ends by itself; Spark may, and is started again when it is needed."""
        if self._spark is not None and self._spark.has_ended():
            self._spark = None
        return False

    def processor_seconds(self) -> float | None:
        """What the asking thread has spent, and Spark for firings; None where others work for Spark."""
        if self._spark is not None and self._spark.processor_seconds() is None:
            return None
        return time.thread_time() + self._spent_by_spark

    def kept(self, folder: str) -> Sequence[ArrangementRow]:
        """What is kept in this process."""
        return self._in_process.kept(folder)

    def allow(self, states: StateBudget) -> None:
        """Keep no more in this process."""
        self._in_process.allow(states)

    def interrupt(self) -> None:
        """End what either does now."""
        self._in_process.interrupt()
        if self._spark is not None:
            self._spark.interrupt()

    def close(self) -> None:
        """End both."""
        self._in_process.close()
        with self._lock:  # a start that nobody waits for any more ends soon
            if self._spark is not None:
                self._spark.close()

    def _started(self) -> Executor:
        """The executor on Spark, for which whoever needs it waits."""
        self._is_starting = True
        try:
            with self._lock:
                if self._spark is None:
                    self._spark = self._engine.start(self._go_on)
                return self._spark
        finally:
            self._is_starting = False

    def _start_early(self) -> None:
        """Start Spark before it is asked for; why it does not start is said to whoever needs it."""
        with contextlib.suppress(Error), self._lock:
            if self._spark is None:
                self._spark = self._engine.start(self._go_on)
                self._spark.warm()
