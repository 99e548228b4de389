"""What every kind of Spark owes to a firing (G6): run by test_executor_contract.py, which says where."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from catalog.batch import Batch
from catalog.errors import DivisionByZero, NumericValueOutOfRange
from catalog.schema import TableName
from catalog.storage import Decimal as DecimalStorage
from catalog.storage import ListOf, Plain
from executors.reference.firing import Changes
from executors.spark.compile import Statement
from executors.spark.compile_nodes import view_of
from executors.spark.firing import Firing, InFile, InMemory, Part, Range, collect, fire
from executors.spark.relation import Schema, name_of
from executors.spark.session import BROKEN, SparkSettings, close_session, open_session
from executors.spark.types import arrow_schema
from planner.incremental import derive
from planner.logical import LogicalQuery
from planner.weighted import Moment
from sources.warehouse import Warehouse
from tests.randomplans import commits, queries
from tests.test_spark_compile import OnSpark

pytestmark = pytest.mark.service

EVERYTHING: Schema = {
    1: Plain.BOOLEAN,
    2: Plain.INT16,
    3: Plain.INT64,
    4: Plain.FLOAT64,
    5: DecimalStorage(38, 10),
    6: Plain.TEXT,
    7: Plain.BYTES,
    8: Plain.DATE,
    9: Plain.TIMESTAMP,
    10: Plain.TIMESTAMPTZ,
    11: Plain.INTERVAL,
    12: ListOf(Plain.INT32),
}
VALUES = (
    True,
    -(2**15),
    2**63 - 1,
    -0.1,
    Decimal("-1234567890123456789012345678.0123456789"),
    "Ünïcödé 😀\n'\"\\",
    b"\x00\xff",
    date(1, 1, 1),
    datetime(1500, 2, 28, 23, 59, 59, 999_999),
    datetime(2026, 10, 25, 0, 30, 0, 1, UTC),
    {"months": -1, "days": 31, "microseconds": 86_400_000_001},
    [1, None, -3],
)
NUMBERS: Schema = {1: Plain.INT64}
MANY = 100_000
PARTS = 4
AGES = "SELECT sum(a.id * b.id) AS c1, 1L AS weight FROM range(10000000) AS a CROSS JOIN range(10000000) AS b"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    place = os.environ["GAVIAL_TEST_SPARK"]
    directory = tmp_path_factory.mktemp("spark")
    if place.startswith("sc://"):
        opened = open_session(SparkSettings(directory, remote=place))
    else:
        opened = open_session(SparkSettings(directory, place, memory=1 << 30))
    yield opened
    close_session(opened)


class Rows:
    """The rows of buffer 0, in files and in memory."""

    def __init__(self, *parts: Part) -> None:
        self._parts = parts

    def parts(self, buffer: int, _range: Range) -> Sequence[Part]:
        return self._parts if buffer == 0 else []

    def count(self, buffer: int, range: Range) -> int:
        return sum(each.rows for each in self.parts(buffer, range))

    def names(self, _buffer: int) -> Mapping[int, str]:
        return {column: name_of(column) for column in EVERYTHING}


def as_rows(schema: Schema, *rows: Sequence[object]) -> pa.Table:
    """Each with weight 1."""
    target = arrow_schema(schema)
    columns = zip(*((*row, 1) for row in rows), strict=True)
    return pa.table(
        [pa.array(column, each.type) for column, each in zip(columns, target, strict=True)], target
    )


def sealed(directory: Path, rows: pa.Table) -> InFile:
    stamped = rows.append_column("commit_lsn", pa.repeat(pa.scalar(7, pa.int64()), rows.num_rows))
    stamped = stamped.append_column("is_update", pa.repeat(pa.scalar(False), rows.num_rows))
    warehouse = Warehouse(str(directory))
    batch: Batch = warehouse.seal("table-1", stamped, 0, 7, 1)
    return InFile(warehouse.uri_of(batch), batch.rows)


def fired(session: SparkSession, sql: str, schema: Schema, *parts: Part) -> pa.Table:
    """The outcome of a statement over the rows."""
    statement = Statement(sql.format(rows=view_of(0, Moment.CHANGE)), ((0, Moment.CHANGE),))
    firing = Firing(1, statement, {0: (0, 7), 1: (0, 0)}, consolidate=False)
    return fire(session, firing, Rows(*parts), {0: schema, 1: schema}).rows


def numbers(directory: Path) -> list[Part]:
    """Several files, so that there are several tasks."""
    step = MANY // PARTS
    ranges = (range(start, start + step) for start in range(0, MANY, step))
    return [sealed(directory, as_rows(NUMBERS, *((each,) for each in found))) for found in ranges]


@settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(query=queries(), changes=commits(1))
def test_plans_write_what_the_definition_writes(
    session: SparkSession, query: LogicalQuery, changes: list[dict[TableName, Changes]]
) -> None:
    running = OnSpark(session, derive(query))
    running.fire_all()
    for commit in changes:
        running.replay.commit(commit)
        running.fire_all()


def test_values_go_through_files_and_memory_unchanged(session: SparkSession, tmp_path: Path) -> None:
    rows = as_rows(EVERYTHING, VALUES, (None,) * len(VALUES))
    found = fired(session, "SELECT * FROM {rows}", EVERYTHING, sealed(tmp_path, rows), InMemory(rows))
    assert found.schema == rows.schema
    expected = pa.concat_tables([rows, rows]).to_pylist()
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected))


def test_sums_of_many_files_are_exact(session: SparkSession, tmp_path: Path) -> None:
    sql = "SELECT sum(c1) AS c1, count(*) AS weight FROM {rows}"
    [row] = fired(session, sql, NUMBERS, *numbers(tmp_path)).to_pylist()
    assert row == {"c1": MANY * (MANY - 1) // 2, "weight": MANY}


def test_groups_of_many_files_are_whole(session: SparkSession, tmp_path: Path) -> None:
    sql = "SELECT c1 % 7 AS c1, sum(weight) AS weight FROM {rows} GROUP BY c1 % 7"
    found = fired(session, sql, NUMBERS, *numbers(tmp_path)).to_pylist()
    expected = [{"c1": rest, "weight": len(range(rest, MANY, 7))} for rest in range(7)]
    assert sorted(found, key=lambda row: row["c1"]) == expected


@pytest.mark.parametrize(
    ("value", "error"),
    [("c1 div (c1 - c1)", DivisionByZero), ("c1 * 9223372036854775807L", NumericValueOutOfRange)],
)
def test_errors_in_data_are_postgresqls_and_pass(
    session: SparkSession, tmp_path: Path, value: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        fired(session, f"SELECT {value} AS c1, weight FROM {{rows}}", NUMBERS, *numbers(tmp_path))
    assert fired(session, "SELECT * FROM {rows}", NUMBERS, *numbers(tmp_path)).num_rows == MANY


def test_what_was_taken_back_is_not_looked_at(session: SparkSession) -> None:
    rows = as_rows(NUMBERS, (0,), (2,))
    weights = pa.array([-1, 0], pa.int64())
    taken_back = rows.set_column(1, rows.schema.field("weight"), weights)
    statement = Statement(
        f"SELECT 6 div c1 AS c1, weight FROM {view_of(0, Moment.CHANGE)}", ((0, Moment.CHANGE),)
    )
    firing = Firing(1, statement, {0: (0, 7), 1: (0, 0)}, consolidate=True)
    outcome = fire(session, firing, Rows(InMemory(rows), InMemory(taken_back)), {0: NUMBERS, 1: NUMBERS})
    assert outcome.rows.to_pylist() == [{"c1": 3, "weight": 1}]


def test_nothing_comes_of_nothing(session: SparkSession) -> None:
    firing = Firing(1, Statement("not even SQL", ()), {0: (5, 5), 1: (0, 0)})
    outcome = fire(session, firing, Rows(), {0: NUMBERS, 1: NUMBERS})
    assert (outcome.rows.num_rows, outcome.jobs) == (0, 0)


def test_a_task_that_is_tried_again_counts_once(session: SparkSession, tmp_path: Path) -> None:
    """In each process the first task to ask fails: the property was not set before."""
    name = f"gavial.{time.monotonic_ns()}"
    asked = f"CASE WHEN c1 = 5 THEN reflect('java.lang.System', 'setProperty', '{name}', 'asked') ELSE '' END"
    failing = f"CASE WHEN {asked} IS NULL THEN raise_error('once') ELSE c1 END"
    found = fired(session, f"SELECT {failing} AS c1, weight FROM {{rows}}", NUMBERS, *numbers(tmp_path))
    assert sorted(found["c1"].to_pylist()) == list(range(MANY))


def test_a_task_that_is_run_twice_counts_once(session: SparkSession, tmp_path: Path) -> None:
    """One is so slow that, where that is done, another is begun beside it."""
    slow = "CASE WHEN c1 = 5 THEN reflect('java.lang.Thread', 'sleep', 3000L) ELSE '' END"
    sql = f"SELECT CASE WHEN {slow} IS NULL THEN c1 ELSE c1 END AS c1, weight FROM {{rows}}"
    found = fired(session, sql, NUMBERS, *numbers(tmp_path))
    assert sorted(found["c1"].to_pylist()) == list(range(MANY))


def test_what_is_interrupted_ends_and_the_next_goes_on(session: SparkSession) -> None:
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            collect(session, AGES)
        except BROKEN as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        session.interruptAll()
        thread.join(0.5)
    assert len(outcome) == 1
    assert collect(session, "SELECT 1 AS c1").to_pylist() == [{"c1": 1}]
