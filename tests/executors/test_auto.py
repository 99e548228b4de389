"""Which of two engines computes a firing, and what is said of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from catalog.postgres.storage import Plain
from catalog.postgres.types import INT8, SqlType
from catalog.queries.arrangements import ArrangementRow
from dialect.expressions.environment import DEFAULT, Environment
from dialect.expressions.scalar import Reference
from executors.auto import AutoEngine, AutoExecutor
from executors.duckdb.contents import Contents
from executors.duckdb.database import open_database
from executors.duckdb.inputs import Inputs, Statements
from executors.executor import Buffers, Executor, Firing, InMemory, Outcome, Part, Range
from executors.rows import Schema, arrow_schema
from executors.settings import EngineSettings
from planner.algebra.logical import Computed, Field
from planner.cost.engines import EngineLimits
from planner.cost.weights import IN_PROCESS, SPARK
from planner.delta.weighted import (
    Consolidate,
    DeltaPlan,
    DeltaProject,
    Moment,
    NodeBuffer,
    Read,
    Step,
    Subplan,
)
from tests.support.planning.random_plans import call

KEY = Field(1, "key", SqlType(INT8))
MADE = Field(2, "made", SqlType(INT8))
SCHEMAS: Mapping[int, Schema] = {0: {1: Plain.INT64}, 1: {1: Plain.INT64}, 2: {2: Plain.INT64}}
SECONDS = 10.0


class InPlace(Executor):
    """What stands for Spark: it gives back nothing, and counts how often it was asked."""

    waits_for = None

    def __init__(self) -> None:
        self.asked = 0

    def fire(self, firing: Firing, _buffers: Buffers) -> Outcome:
        self.asked += 1
        return Outcome(arrow_schema(firing.schema).empty_table(), 0, 1, SPARK)

    def warm(self) -> None:
        pass

    def has_ended(self) -> bool:
        return False

    def processor_seconds(self) -> float | None:
        return 0.0

    def kept(self, _folder: str) -> Sequence[ArrangementRow]:
        return ()

    def interrupt(self) -> None:
        pass

    def close(self) -> None:
        pass


class Large:
    """The engine that starts it."""

    name = SPARK

    def __init__(self) -> None:
        self.executor = InPlace()
        self.started = 0
        self.may_start = threading.Event()
        self.may_start.set()

    def schemas(self, _plan: DeltaPlan, _environment: Environment) -> Mapping[int, Schema]:
        return SCHEMAS

    def engines(
        self, _plan: DeltaPlan, _schemas: Mapping[int, Schema], _environment: Environment
    ) -> tuple[EngineLimits, ...]:
        return (EngineLimits(SPARK),)

    def foresee(self, _engines: Collection[str]) -> None:
        pass

    def beside(self) -> Large:
        return self

    def start(self, _go_on: Callable[[], bool]) -> InPlace:
        assert self.may_start.wait(SECONDS)
        self.started += 1
        return self.executor


@dataclass
class Rows(Buffers):
    """So many rows, all of them new."""

    number: int

    def parts(self, _buffer: int, _range: Range) -> Sequence[Part]:
        table = pa.table({"c1": pa.array(range(self.number), pa.int64())})
        return [InMemory(table.append_column("weight", pa.repeat(pa.scalar(1, pa.int64()), self.number)))]

    def count(self, _buffer: int, _range: Range) -> int:
        return self.number

    def names(self, _buffer: int) -> Mapping[int, str]:
        return {1: "c1"}


PASSING = Subplan(1, (0,), (Step(0, "", Consolidate(Read(0, Moment.CHANGE, (KEY,)))),), "linear")
FIRING = Firing(PASSING, {0: (0, 1), 1: (0, 0)}, SCHEMAS, DEFAULT, first=True)
UNWRITTEN = call(1, "no such function", SqlType(INT8), Reference(1, SqlType(INT8)))


@pytest.fixture
def large() -> Large:
    return Large()


@pytest.fixture
def executor(large: Large, tmp_path: Path) -> AutoExecutor:
    return AutoEngine(large, EngineSettings(tmp_path)).start(lambda: True)


def until_started(executor: AutoExecutor) -> None:
    end = time.monotonic() + SECONDS
    while executor._spark is None:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_firing_is_computed_where_it_is_asked_for(executor: AutoExecutor, large: Large) -> None:
    """While Spark has not started, in the process; and Spark is started meanwhile."""
    small = executor.fire(replace(FIRING, engine=IN_PROCESS), Rows(3))
    assert (small.engine, small.rows.num_rows, small.reason, large.started) == (IN_PROCESS, 3, "", 0)
    large.may_start.clear()
    early = executor.fire(replace(FIRING, engine=SPARK), Rows(3))
    assert (early.engine, early.reason) == (IN_PROCESS, "Spark has not started")
    large.may_start.set()
    until_started(executor)
    asked = executor.fire(replace(FIRING, engine=SPARK), Rows(3))
    assert (asked.engine, asked.reason, asked.repeated) == (SPARK, "", False)
    assert executor.fire(replace(FIRING, engine=IN_PROCESS), Rows(3)).engine == IN_PROCESS


def test_spark_is_started_when_it_is_foreseen(large: Large, tmp_path: Path) -> None:
    engine = AutoEngine(large, EngineSettings(tmp_path))
    executor = engine.start(lambda: True)
    engine.foresee({IN_PROCESS})
    executor.warm()
    assert large.started == 0
    engine.foresee({IN_PROCESS, SPARK})
    executor.warm()
    until_started(executor)
    assert large.started == 1


def test_too_many_rows_are_known_before_anything_is_computed(large: Large, tmp_path: Path) -> None:
    executor = AutoEngine(large, EngineSettings(tmp_path, in_process_rows=2)).start(lambda: True)
    outcome = executor.fire(FIRING, Rows(3))
    assert (outcome.engine, outcome.reason, outcome.repeated) == (SPARK, "3 changed rows", False)


def test_what_needed_too_much_memory_is_not_tried_again(
    executor: AutoExecutor, large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are more rows of it; fewer are."""
    tried = []

    def in_vain(_self: Statements, sql: str, _inputs: object) -> pa.Table:
        tried.append(sql)
        raise duckdb.OutOfMemoryException("no memory")

    monkeypatch.setattr(Statements, "rows", in_vain)
    first = executor.fire(FIRING, Rows(30))
    assert (first.engine, first.repeated) == (SPARK, True)
    assert first.reason == "more memory than --in-process-memory is needed"
    again = executor.fire(FIRING, Rows(40))
    assert (again.engine, again.repeated) == (SPARK, False)
    assert again.reason == "40 changed rows needed more memory than --in-process-memory before"
    assert len(tried) == 1
    assert executor.fire(FIRING, Rows(29)).repeated
    assert (len(tried), large.executor.asked) == (2, 3)


def test_contents_that_are_held_make_room_first(
    executor: AutoExecutor, large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are only kept to be read again; without them it is computed here, and teaches nothing."""
    executor.fire(FIRING, Rows(1))
    rows, tried = Statements.rows, list[str]()

    def once_in_vain(statements: Statements, sql: str, inputs: Inputs) -> pa.Table:
        tried.append(sql)
        if len(tried) == 1:
            raise duckdb.OutOfMemoryException("no memory")
        return rows(statements, sql, inputs)

    monkeypatch.setattr(Statements, "rows", once_in_vain)
    monkeypatch.setattr(Contents, "are_empty", False)
    outcome = executor.fire(FIRING, Rows(30))
    assert (outcome.engine, outcome.repeated, len(tried)) == (IN_PROCESS, True, 2)
    assert outcome.reason == "it needed the memory of tables that were held to be read again"
    assert large.executor.asked == 0


def test_rows_that_were_handed_over_count_as_memory() -> None:
    """The database has given them away, and counts them no more."""
    statements = Statements(open_database(2**26), most_bytes=1000)
    assert statements.rows("SELECT i FROM range(100) AS r (i)", Inputs()).num_rows == 100
    with pytest.raises(duckdb.OutOfMemoryException, match="the rows of a statement take"):
        statements.rows("SELECT i FROM range(125000) AS r (i)", Inputs())


def test_what_an_engine_can_do_is_known_before_it_is_asked(large: Large, tmp_path: Path) -> None:
    unwritten = DeltaProject(Read(1, Moment.CHANGE, (KEY,)), (Computed(MADE, UNWRITTEN),))
    other = Subplan(2, (1,), (Step(0, "", Consolidate(unwritten)),), "linear")
    buffers = (NodeBuffer(0, "a", (KEY,)), NodeBuffer(1, "b", (KEY,)), NodeBuffer(2, "c", (MADE,)))
    plan = DeltaPlan(buffers, (PASSING, other))
    small, spark = AutoEngine(large, EngineSettings(tmp_path, in_process_rows=7)).engines(
        plan, SCHEMAS, DEFAULT
    )
    assert (small.name, small.most_changed, small.most_read) == (IN_PROCESS, 7, 70)
    assert set(small.unable) == {2}
    assert small.unable[2].startswith("not written for DuckDB: ")
    assert spark == EngineLimits(SPARK)
    none = AutoEngine(large, EngineSettings(tmp_path, in_process_rows=0))
    assert none.engines(plan, SCHEMAS, DEFAULT) == (EngineLimits(SPARK),)
