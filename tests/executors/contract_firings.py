"""What every executor owes to a firing: run by test_executor_contract.py, which says where."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from catalog.capture.batch import Batch
from catalog.errors import DivisionByZero, Error, NumericValueOutOfRange
from catalog.postgres.schema import TableName
from catalog.postgres.storage import Decimal as DecimalStorage
from catalog.postgres.storage import ListOf, Plain
from catalog.postgres.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT8,
    INT2,
    INT8,
    INTERVAL,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
)
from dialect.expressions.environment import DEFAULT
from dialect.expressions.scalar import Call, Constant, Notation, Reference, Scalar
from executors.engines import ENGINES
from executors.executor import (
    AddedColumn,
    Engine,
    Executor,
    Firing,
    Folder,
    InFile,
    InMemory,
    Part,
    Range,
)
from executors.reference.firing import Changes
from executors.rows import Schema, arrow_schema, name_of
from executors.settings import EngineSettings
from planner.algebra.logical import Computed, Field, LogicalQuery
from planner.delta.derive import derive
from planner.delta.weighted import Consolidate, DeltaProject, Moment, Pairs, Read, Step, Subplan, Weighted
from sources.warehouse.bounds import bounds_of
from sources.warehouse.warehouse import Warehouse
from tests.support.planning.random_plans import commits, queries
from tests.support.spark.side_by_side import SideBySide

pytestmark = pytest.mark.service

INT4_ARRAY = 1007
NUMERIC_38_10 = ((38 << 16) | 10) + 4
EVERYTHING: Mapping[int, tuple[int, object, object]] = {
    1: (BOOL, Plain.BOOLEAN, True),
    2: (INT2, Plain.INT16, -(2**15)),
    3: (INT8, Plain.INT64, 2**63 - 1),
    4: (FLOAT8, Plain.FLOAT64, -0.1),
    5: (NUMERIC, DecimalStorage(38, 10), Decimal("-1234567890123456789012345678.0123456789")),
    6: (TEXT, Plain.TEXT, "Ünïcödé 😀\n'\"\\"),
    7: (BYTEA, Plain.BYTES, b"\x00\xff"),
    8: (DATE, Plain.DATE, date(1, 1, 1)),
    9: (TIMESTAMP, Plain.TIMESTAMP, datetime(1500, 2, 28, 23, 59, 59, 999_999)),
    10: (TIMESTAMPTZ, Plain.TIMESTAMPTZ, datetime(2026, 10, 25, 0, 30, 0, 1, UTC)),
    11: (INTERVAL, Plain.INTERVAL, {"months": -1, "days": 31, "microseconds": 86_400_000_001}),
    12: (INT4_ARRAY, ListOf(Plain.INT32), [1, None, -3]),
}
STORED: Schema = {column: storage for column, (_oid, storage, _value) in EVERYTHING.items()}  # type: ignore[misc]
FIELDS = tuple(Field(column, name_of(column), SqlType(oid)) for column, (oid, *_) in EVERYTHING.items())
NUMBER = Field(1, "number", SqlType(INT8))
OTHER = Field(2, "other", SqlType(INT8))
NUMBERS: Schema = {1: Plain.INT64}
READ = Read(0, Moment.CHANGE, (NUMBER,))
WRITES = os.environ.get("GAVIAL_TEST_EXECUTOR") != "reference"
MANY = 2_000
PARTS = 4


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    place, directory = os.environ["GAVIAL_TEST_EXECUTOR"], tmp_path_factory.mktemp("executor")
    if place == "reference":
        return ENGINES["reference"](EngineSettings(directory))
    if place.startswith("sc://"):
        return ENGINES["spark"](EngineSettings(directory, spark_remote=place))
    if place.startswith("auto "):
        master = place.removeprefix("auto ")
        return ENGINES["auto"](
            EngineSettings(directory, master, spark_memory=1 << 30, in_process_rows=MOST_IN_PROCESS)
        )
    return ENGINES["spark"](EngineSettings(directory, place, spark_memory=1 << 30))


@pytest.fixture(scope="module")
def executor(engine: Engine) -> Iterator[Executor]:
    started = engine.start(lambda: True)
    yield started
    started.close()


class Rows:
    """The rows of buffer 0, in files and in memory."""

    def __init__(self, *parts: Part) -> None:
        self._parts = parts

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        return self._parts if buffer == 0 and range[0] < range[1] else []

    def count(self, buffer: int, range: Range) -> int:
        return sum(part.rows for part in self.parts(buffer, range))

    def names(self, _buffer: int) -> Mapping[int, str]:
        return {column: name_of(column) for column in EVERYTHING}


MOST_IN_PROCESS = 2_000_000
"""More changed rows are Spark's, where it is there beside DuckDB."""


class Many(Rows):
    """So many, as they are counted, that their engine is not expected to hand them over."""

    def count(self, buffer: int, range: Range) -> int:
        return super().count(buffer, range) * 10_000_000


def fired_into(
    executor: Executor, warehouse: Warehouse, fired: Firing, rows: Rows
) -> tuple[pa.Table, tuple[Batch, ...]]:
    """What comes of a firing that has a folder at offset 9, and the batches that its engine wrote there."""
    folder = warehouse.new_name("node-1", 9)
    outcome = executor.fire(replace(fired, folder=Folder(warehouse.uri_of_folder(folder), 9)), rows)
    if outcome.in_folder is None:
        return outcome.rows, ()
    batches = warehouse.seal_folder(folder, 0, 9, 1)
    assert outcome.in_folder == sum(batch.rows for batch in batches)
    assert warehouse.sizes().keys() == {batch.file for batch in batches}
    schema = outcome.rows.schema
    tables = [warehouse.read(batch).select(schema.names).cast(schema) for batch in batches]
    return pa.concat_tables([outcome.rows, *tables]), batches


def as_rows(schema: Schema, *rows: Sequence[object]) -> pa.Table:
    """Each with weight 1."""
    target = arrow_schema(schema)
    columns = zip(*((*row, 1) for row in rows), strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, target, strict=True)]
    return pa.table(arrays, target)


def sealed(directory: Path, rows: pa.Table, offsets: Sequence[int] | None = None) -> InFile:
    """The rows in a file, all at offset 7 or each at its own."""
    at = pa.array(offsets or [7] * rows.num_rows, pa.int64())
    stamped = rows.append_column("commit_lsn", at)
    stamped = stamped.append_column("is_update", pa.repeat(pa.scalar(False), rows.num_rows))
    warehouse = Warehouse(str(directory))
    batch: Batch = warehouse.seal("table-1", stamped, 0, max(at.to_pylist()), 1)
    return InFile(warehouse.uri_of(batch), batch.rows)


def firing(
    outcome: Weighted, schema: Schema, written: Schema, *, first: bool = False, consolidate: bool = False
) -> Firing:
    """One that gives the outcome."""
    subplan = Subplan(1, (0,), (Step(1, "outcome", outcome),), "")
    return Firing(
        subplan, {0: (0, 7), 1: (0, 0)}, {0: schema, 1: written}, first=first, consolidate=consolidate
    )


def computed(value: Scalar, from_: Weighted = READ) -> Weighted:
    return DeltaProject(from_, (Computed(Field(3, "value", SqlType(INT8)), value),))


def numbers(directory: Path) -> list[Part]:
    """Several files, so that there are several tasks."""
    step = MANY // PARTS
    starts = range(0, MANY, step)
    return [
        sealed(directory, as_rows(NUMBERS, *((number,) for number in range(start, start + step))))
        for start in starts
    ]


def bigint(function: int, name: str, left: Scalar, right: Scalar) -> Call:
    return Call(function, name, Notation.FUNCTION, (left, right), 0, SqlType(INT8))


def constant(number: int) -> Constant:
    return Constant(str(number), SqlType(INT8))


X = Reference(1, SqlType(INT8))
FAILING = {
    DivisionByZero: bigint(466, "int8div", X, bigint(464, "int8mi", X, X)),
    NumericValueOutOfRange: bigint(465, "int8mul", X, constant(2**63 - 1)),
}


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
    engine: Engine, executor: Executor, query: LogicalQuery, changes: list[dict[TableName, Changes]]
) -> None:
    plan = derive(query)
    running = SideBySide(executor, plan, engine.schemas(plan, DEFAULT))
    running.fire_all()
    for commit in changes:
        running.replay.commit(commit)
        running.fire_all()


def test_values_go_through_files_and_memory_unchanged(executor: Executor, tmp_path: Path) -> None:
    values = [value for _oid, _storage, value in EVERYTHING.values()]
    rows = as_rows(STORED, values, (None,) * len(values))
    read = firing(Read(0, Moment.CHANGE, FIELDS), STORED, STORED)
    written = executor.fire(read, Rows(sealed(tmp_path, rows), InMemory(rows))).rows
    assert written.schema == rows.schema
    expected = pa.concat_tables([rows, rows]).to_pylist()
    assert sorted(map(str, written.to_pylist())) == sorted(map(str, expected))


def test_what_the_engine_writes_itself_is_what_it_hands_over(executor: Executor, tmp_path: Path) -> None:
    """Of what claims to be many rows; an engine that cannot write hands them over."""
    values = [value for _oid, _storage, value in EVERYTHING.values()]
    rows = as_rows(STORED, values, (None,) * len(values))
    read = firing(Read(0, Moment.CHANGE, FIELDS), STORED, STORED)
    warehouse = Warehouse(str(tmp_path / "written"))
    found, batches = fired_into(executor, warehouse, read, Many(sealed(tmp_path, rows), InMemory(rows)))
    assert found.schema == rows.schema
    expected = pa.concat_tables([rows, rows]).to_pylist()
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected))
    for batch in batches:
        assert set(warehouse.read(batch)["commit_lsn"].to_pylist()) == {9}
        assert set(warehouse.read(batch)["is_update"].to_pylist()) == {False}
        assert (batch.from_offset, batch.to_offset, batch.buffer) == (0, 9, "node-1")
    assert bool(batches) == WRITES, "Spark writes what is large"


def test_bounds_of_what_the_engine_writes_are_those_of_its_rows(executor: Executor, tmp_path: Path) -> None:
    values = [value for _oid, _storage, value in EVERYTHING.values()]
    read = firing(Read(0, Moment.CHANGE, FIELDS), STORED, STORED)
    warehouse = Warehouse(str(tmp_path / "written"))
    rows = as_rows(STORED, values, (None,) * len(values))
    _, batches = fired_into(executor, warehouse, read, Many(InMemory(rows)))
    for batch in batches:
        table = warehouse.read(batch)
        known = {name: found for name in table.column_names if (found := bounds_of(table[name])) is not None}
        known = {name: found for name, found in known.items() if name not in ("commit_lsn", "is_update")}
        assert batch.bounds == {name: found for name, found in known.items() if name != "c4"}
    assert len({name for batch in batches for name in batch.bounds}) == (9 if WRITES else 0)


def test_what_the_engine_wrote_is_read_like_other_files(executor: Executor, tmp_path: Path) -> None:
    warehouse = Warehouse(str(tmp_path / "written"))
    found, batches = fired_into(executor, warehouse, firing(READ, NUMBERS, NUMBERS), Many(*numbers(tmp_path)))
    assert sorted(found["c1"].to_pylist()) == list(range(MANY))
    parts = [InFile(warehouse.uri_of(batch), batch.rows) for batch in batches]
    outcome = executor.fire(firing(READ, NUMBERS, NUMBERS), Rows(*parts) if WRITES else Rows(InMemory(found)))
    assert sorted(outcome.rows["c1"].to_pylist()) == list(range(MANY))
    slices = [rows for batch in batches for rows in warehouse.slices(batch, ["c1", "weight"], 100)]
    assert max((rows.num_rows for rows in slices), default=0) == (100 if WRITES else 0)
    assert sum(rows.num_rows for rows in slices) == (MANY if WRITES else 0)


def test_an_error_leaves_nothing_that_would_count(executor: Executor, tmp_path: Path) -> None:
    written: Schema = {3: Plain.INT64}
    warehouse = Warehouse(str(tmp_path / "written"))
    failing = firing(computed(FAILING[DivisionByZero]), NUMBERS, written)
    with pytest.raises(DivisionByZero):
        fired_into(executor, warehouse, failing, Many(*numbers(tmp_path)))
    found, _ = fired_into(executor, warehouse, firing(READ, NUMBERS, NUMBERS), Many(*numbers(tmp_path)))
    assert found.num_rows == MANY


def test_many_files_are_whole(executor: Executor, tmp_path: Path) -> None:
    outcome = executor.fire(firing(READ, NUMBERS, NUMBERS), Rows(*numbers(tmp_path)))
    assert sorted(outcome.rows["c1"].to_pylist()) == list(range(MANY))
    assert outcome.rows_in == MANY


def test_files_are_read_within_their_offsets(executor: Executor, tmp_path: Path) -> None:
    file = sealed(tmp_path, as_rows(NUMBERS, (1,), (2,), (3,), (4,)), [3, 4, 5, 6])
    for after, upto, expected in (
        (None, None, [1, 2, 3, 4]),
        (3, 5, [2, 3]),
        (4, None, [3, 4]),
        (None, 3, [1]),
    ):
        part = InFile(file.uri, file.rows, after, upto)
        outcome = executor.fire(firing(READ, NUMBERS, NUMBERS), Rows(part))
        assert sorted(outcome.rows["c1"].to_pylist()) == expected


def test_columns_that_files_lack_have_their_value(executor: Executor, tmp_path: Path) -> None:
    file = sealed(tmp_path, as_rows(NUMBERS, (1,), (2,)))
    part = InFile(file.uri, file.rows, added=(AddedColumn("c2", "-7", OTHER.type, Plain.INT64),))
    both: Schema = {1: Plain.INT64, 2: Plain.INT64}
    outcome = executor.fire(firing(Read(0, Moment.CHANGE, (NUMBER, OTHER)), both, both), Rows(part))
    assert sorted(outcome.rows.select(["c1", "c2"]).to_pylist(), key=lambda row: row["c1"]) == [
        {"c1": 1, "c2": -7},
        {"c1": 2, "c2": -7},
    ]


@pytest.mark.parametrize("error", FAILING, ids=lambda error: error.__name__)
def test_errors_in_data_are_postgresqls_and_pass(
    executor: Executor, tmp_path: Path, error: type[Error]
) -> None:
    written: Schema = {3: Plain.INT64}
    with pytest.raises(error):
        executor.fire(firing(computed(FAILING[error]), NUMBERS, written), Rows(*numbers(tmp_path)))
    outcome = executor.fire(firing(READ, NUMBERS, NUMBERS), Rows(*numbers(tmp_path)))
    assert outcome.rows.num_rows == MANY


def test_what_was_taken_back_is_not_looked_at(executor: Executor) -> None:
    rows = as_rows(NUMBERS, (0,), (2,))
    weights = pa.array([-1, 0], pa.int64())
    taken_back = rows.set_column(1, rows.schema.field("weight"), weights)
    quotient = bigint(466, "int8div", constant(6), X)
    divided = firing(computed(quotient), NUMBERS, {3: Plain.INT64}, consolidate=True)
    outcome = executor.fire(divided, Rows(InMemory(rows), InMemory(taken_back)))
    assert outcome.rows.to_pylist() == [{"c3": 3, "weight": 1}]


def test_nothing_comes_of_nothing(executor: Executor) -> None:
    read = firing(READ, NUMBERS, NUMBERS)
    nothing = Firing(read.subplan, {0: (5, 5), 1: (0, 0)}, read.schemas)
    outcome = executor.fire(nothing, Rows(InFile("file:///no/such/file", 1)))
    assert (outcome.rows.num_rows, outcome.rows.schema, outcome.jobs) == (0, arrow_schema(NUMBERS), 0)


def test_the_first_firing_runs_in_any_case(executor: Executor) -> None:
    read = firing(READ, NUMBERS, NUMBERS, first=True)
    nothing = Firing(read.subplan, {0: (5, 5), 1: (0, 0)}, read.schemas, first=True)
    outcome = executor.fire(nothing, Rows())
    assert (outcome.rows.num_rows, outcome.jobs) == (0, 1)


def test_a_file_that_is_missing_is_an_error_of_ours(executor: Executor, tmp_path: Path) -> None:
    file = sealed(tmp_path, as_rows(NUMBERS, (1,)))
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(Error):
        executor.fire(firing(READ, NUMBERS, NUMBERS), Rows(file))


def test_what_is_interrupted_ends_and_the_next_goes_on(executor: Executor, tmp_path: Path) -> None:
    """Every pair of some thousands of rows takes longer than anybody waits."""
    rows = numbers(tmp_path) * (100 if os.environ["GAVIAL_TEST_EXECUTOR"].startswith("auto") else 25)
    renumbered = DeltaProject(READ, (Computed(OTHER, X),))
    product = bigint(465, "int8mul", X, Reference(2, SqlType(INT8)))
    rest = bigint(947, "int8mod", product, constant(999_983))
    condition = Call(467, "int8eq", Notation.FUNCTION, (rest, constant(999_982)), 0, SqlType(BOOL))
    pairs = Pairs(READ, renumbered, condition)
    ages = firing(Consolidate(computed(X, pairs)), NUMBERS, {3: Plain.INT64})
    errors: list[BaseException] = []

    def work() -> None:
        try:
            executor.fire(ages, Rows(*rows))
        except Error as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(1)
    while thread.is_alive():
        executor.interrupt()
        thread.join(0.5)
    assert len(errors) == 1
    outcome = executor.fire(firing(READ, NUMBERS, NUMBERS), Rows(InMemory(as_rows(NUMBERS, (1,)))))
    assert outcome.rows.to_pylist() == [{"c1": 1, "weight": 1}]
    assert not executor.has_ended()
