"""Spark as an executor: a session for as long as its Java process runs, and its errors in our words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from pyspark.sql import SparkSession

from catalog.errors import ConfigurationError, EngineFailed, EngineLost, Error
from dialect.expressions.environment import Environment
from executors.executor import Buffers, Engine, Executor, Firing, Outcome
from executors.rows import Schema
from executors.settings import EngineSettings
from executors.spark.compile.subplan import compile_subplan, schemas_of
from executors.spark.failures import FAILURES, MORE_MEMORY, as_error, first_line
from executors.spark.firing import BROADCAST_ROWS, NAME, fire
from executors.spark.processor import processor_seconds
from executors.spark.session import (
    BROKEN,
    SparkSettings,
    close_session,
    forget_session,
    has_driver,
    open_remote_session,
    open_session,
)
from executors.spark.shared_session import SharedSession, is_open
from planner.delta.weighted import DeltaPlan
from sources.warehouse.warehouse import FULL, error_of

_ANYTHING: Final = """
    SELECT a.id % 3, sum(b.id) AS total FROM range(8) AS a JOIN range(8) AS b ON a.id = b.id
    GROUP BY a.id % 3 HAVING sum(b.id) <> 0
"""


class SparkExecutor(Executor):
    """One session; `executors/executor.py` says what each method owes.

    `shared`: the session that it belongs to, where others may have sessions on the same Java process.
    """

    def __init__(
        self,
        session: SparkSession,
        broadcast_rows: int = BROADCAST_ROWS,
        shared: tuple[SharedSession, SparkSession] | None = None,
    ) -> None:
        self.session = session
        self._broadcast_rows = broadcast_rows
        self._shared = shared

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """Run the subplan as one statement; what is done beside it has an equal share of the tasks."""
        with self._errors_in_our_words():
            if self._shared is not None:
                pool = "first" if self.session is self._shared[1] else "beside"
                self.session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
            return fire(self.session, firing, buffers, self._broadcast_rows)

    def warm(self) -> None:
        """Have Java load what every firing needs."""
        with self._errors_in_our_words():
            self.session.sql(_ANYTHING).toArrow()

    def has_ended(self) -> bool:
        """Whether the Java process has; then nothing is left of the session."""
        if self._shared is not None and not is_open(self._shared[1]):
            if SparkSession._instantiatedSession is self._shared[1]:
                forget_session()
            return True
        if has_driver(seconds=0):
            return False
        forget_session()
        return True

    def processor_seconds(self) -> float | None:
        """The seconds that the Java process, if it is ours alone, and the asking thread have spent."""
        return processor_seconds()

    def interrupt(self) -> None:
        """End all jobs."""
        self.session.interruptAll()

    def close(self) -> None:
        """Stop the session, and the Java process with it unless others use that."""
        if self._shared is None:
            close_session(self.session)
        else:
            shared, session = self._shared
            shared.give_back(session)

    def _errors_in_our_words(self) -> AbstractContextManager[None]:
        return errors_in_our_words(None if self._shared is None else self._shared[1])


class SparkEngine(Engine):
    """Spark on this machine, on a cluster, or behind Spark Connect."""

    name = NAME

    def __init__(self, settings: SparkSettings, beside: SparkEngine | None = None) -> None:
        self._settings = settings
        self._is_beside = beside is not None
        self._shared: SharedSession = SharedSession(settings) if beside is None else beside._shared

    @staticmethod
    def of(settings: EngineSettings) -> SparkEngine:
        """An engine on this machine, unless another place was asked for."""
        master = settings.spark_master or "local[*]"
        return SparkEngine(
            SparkSettings(settings.scratch, master, settings.spark_remote, settings.spark_memory)
        )

    def schemas(self, plan: DeltaPlan, environment: Environment) -> Mapping[int, Schema]:
        """How Spark's own types hold what is computed."""
        return spark_schemas(plan, environment)

    def beside(self) -> SparkEngine:
        """Sessions on the same Java process, or the same server; each has its own views, and is interrupted
        by itself."""
        return SparkEngine(self._settings, self)

    def start(self, go_on: Callable[[], bool]) -> SparkExecutor:
        """Start a session."""
        remote = self._settings.remote
        try:
            if remote is not None and self._is_beside:
                return SparkExecutor(open_remote_session(remote, is_another=True))
            if remote is not None:
                return SparkExecutor(open_session(self._settings, go_on))
            session = self._shared.take(go_on)
            own = session.newSession() if self._is_beside else session
            return SparkExecutor(own, shared=(self._shared, session))
        except (Error, *BROKEN) as error:
            raise _refusal(error) from None


def spark_schemas(plan: DeltaPlan, environment: Environment) -> Mapping[int, Schema]:
    """How the columns of each buffer are stored; a refusal where a subplan cannot be written for Spark."""
    schemas = schemas_of(plan, environment)
    for subplan in plan.subplans:
        compile_subplan(subplan, schemas, environment)
    return schemas


@contextmanager
def errors_in_our_words(shared: SparkSession | None = None) -> Iterator[None]:
    """What PySpark, Py4J and the system raise, as errors that say what to do.

    `shared`: a session of which another thread may have found first that its process has ended.
    """
    try:
        yield
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise error_of(error) from error
        if not has_driver() or (shared is not None and not is_open(shared)):
            if shared is None or SparkSession._instantiatedSession is shared:
                forget_session()
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
