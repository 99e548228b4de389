"""Nodes, aggregates, constants and files on Spark, by what PostgreSQL has for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from math import isnan, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from catalog.errors import CardinalityViolation, DivisionByZero, Error, NumericValueOutOfRange
from catalog.postgres.storage import Decimal as DecimalStorage
from catalog.postgres.storage import Plain, Storage
from catalog.postgres.types import BOOL, DATE, FLOAT8, INT4, INT8, INTERVAL, NUMERIC, TEXT, TIMESTAMP, SqlType
from dialect.expressions.environment import DEFAULT
from dialect.expressions.scalar import Call, Constant, Notation, Reference, Scalar
from dialect.spark.expressions import render
from executors.executor import Firing, InFile, Part, Range
from executors.rows import Schema, arrow_schema
from executors.spark.compile.nodes import Compiler
from executors.spark.firing import collect, fire
from executors.spark.session import SparkSettings, close_session, open_session
from executors.sql.nodes import view_of
from planner.algebra.logical import SINGLE, AggregateCall, Aggregated, Computed, Field, Order
from planner.delta.weighted import (
    Consolidate,
    DeltaProject,
    First,
    Groups,
    Moment,
    PartialAggregate,
    Read,
    Step,
    Subplan,
    Tallied,
    Tally,
    Weighted,
)

pytestmark = pytest.mark.service

C = 950
TEXT_C = SqlType(TEXT, -1, C)
NUMBER = SqlType(NUMERIC)
KEY, VALUE = Field(1, "key", SqlType(INT4)), Field(2, "value", TEXT_C)
CENTS = DecimalStorage(15, 2)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


class Bench:
    """Compiles one outcome over one buffer of a key and a value, and runs it."""

    def __init__(self, session: SparkSession, value: SqlType, storage: Storage) -> None:
        self.session = session
        self.value = Field(2, "value", value)
        self.schema: Schema = {1: Plain.INT32, 2: storage}
        self.read = Read(0, Moment.CHANGE, (KEY, self.value))

    def rows(self, outcome: Weighted, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The outcome's rows, weight last, over these rows of key, value and weight."""
        schema = arrow_schema(self.schema)
        columns = zip(*rows, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        frame = self.session.createDataFrame(pa.table(arrays, schema=schema))
        frame.createOrReplaceTempView(view_of(0, Moment.CHANGE))
        relation = Compiler({0: self.schema}, DEFAULT, {}, set()).compile(outcome)
        found = collect(self.session, relation.sql).cast(arrow_schema(relation.schema))
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def aggregate(self, call: AggregateCall, rows: Sequence[tuple[Any, ...]]) -> Any:
        """The aggregate over all rows, none of them for a key."""
        outcome = Groups(self.read, (), (Aggregated(Field(3, "x", call.type), call),))
        ((found, weight),) = self.rows(outcome, rows)
        assert weight == 1
        return Decimal(found["text"]) if isinstance(found, dict) and "text" in found else found


def aggregate(
    function: int,
    name: str,
    type_: SqlType,
    *arguments: Scalar,
    distinct: bool = False,
    order: tuple[Order, ...] = (),
) -> AggregateCall:
    return AggregateCall(function, name, arguments, type_, distinct=distinct, order=order, collation=C)


def test_first_counts_a_row_as_often_as_its_weight_says(session: SparkSession) -> None:
    bench = Bench(session, TEXT_C, Plain.TEXT)
    order = (Order(Reference(1, KEY.type), descending=True, nulls_first=False),)
    rows = [(1, "a", 2), (2, "b", 3), (3, "c", 1), (None, "d", 4)]
    found = bench.rows(First(bench.read, order, 4, 2), rows)
    assert sorted(found, reverse=True) == [(2, "b", 2), (1, "a", 2)]
    assert bench.rows(First(bench.read, order, None, 9), rows) == [(None, "d", 1)]
    assert bench.rows(First(bench.read, order, 0, 0), rows) == []


def test_lists_have_their_order_their_nulls_and_their_weights(session: SparkSession) -> None:
    bench = Bench(session, TEXT_C, Plain.TEXT)
    value = Reference(2, TEXT_C)
    rows = [(1, "b", 2), (2, None, 1), (3, "a", 1)]
    texts = SqlType(1009)
    descending = (Order(value, descending=True, nulls_first=True),)
    by_key = (Order(Reference(1, KEY.type), descending=False, nulls_first=False),)
    delimiter = Constant(", $1", TEXT_C)
    array = aggregate(2335, "array_agg", texts, value, order=descending)
    assert bench.aggregate(array, rows) == [None, "b", "b", "a"]
    distinct = aggregate(2335, "array_agg", texts, value, distinct=True)
    assert bench.aggregate(distinct, rows) == ["a", "b", None]
    joined = aggregate(3538, "string_agg", TEXT_C, value, delimiter, order=by_key)
    assert bench.aggregate(joined, rows) == "b, $1b, $1a"
    assert bench.aggregate(joined, [(1, None, 1)]) is None


def test_averages_have_the_digits_that_postgresql_gives_them(session: SparkSession) -> None:
    bench = Bench(session, SqlType(NUMERIC, (15 << 16 | 2) + 4), CENTS)
    average = aggregate(2103, "avg", NUMBER, Reference(2, bench.value.type))
    thirds = bench.aggregate(average, [(1, Decimal("1.00"), 2), (2, Decimal("0.00"), 1)])
    assert str(thirds) == "0.66666666666666666667"
    others = bench.aggregate(average, [(1, Decimal("100.00"), 1), (2, Decimal("-0.01"), 2)])
    assert str(others) == "33.3266666666666667"
    assert bench.aggregate(average, [(1, None, 1)]) is None


def test_intervals_add_up_part_by_part(session: SparkSession) -> None:
    bench = Bench(session, SqlType(INTERVAL), Plain.INTERVAL)
    total = Tallied(Field(3, "sum", SqlType(INTERVAL)), Tally.SUM, Reference(2, SqlType(INTERVAL)))
    month, day = {"months": 1, "days": 0, "microseconds": 5}, {"months": 0, "days": 30, "microseconds": 0}
    found = bench.rows(
        PartialAggregate(bench.read, (), (total,)), [(1, month, 3), (2, day, -1), (3, None, 7)]
    )
    assert found == [({"months": 3, "days": -30, "microseconds": 15}, 1)]
    assert bench.rows(PartialAggregate(bench.read, (), (total,)), [(3, None, 7)]) == [(None, 1)]


def test_not_a_number_is_one_value(session: SparkSession) -> None:
    bench = Bench(session, SqlType(FLOAT8), Plain.FLOAT64)
    ((key, value, weight),) = bench.rows(Consolidate(bench.read), [(1, nan, 2), (1, nan, -1), (2, 0.5, 0)])
    assert (key, isnan(value), weight) == (1, True, 1)


def test_a_second_row_of_a_scalar_subquery_is_an_error(session: SparkSession) -> None:
    bench = Bench(session, TEXT_C, Plain.TEXT)
    single = aggregate(SINGLE, "single", TEXT_C, Reference(2, TEXT_C))
    assert bench.aggregate(single, [(1, "a", 1)]) == "a"
    with pytest.raises(CardinalityViolation, match="more than one row returned"):
        bench.aggregate(single, [(1, "a", 2)])


@pytest.mark.parametrize(
    ("function", "name", "right", "error"),
    [(141, "*", "2147483647", NumericValueOutOfRange), (154, "/", "0", DivisionByZero)],
)
def test_errors_in_data_are_postgresqls(
    session: SparkSession, function: int, name: str, right: str, error: type[Error]
) -> None:
    bench = Bench(session, TEXT_C, Plain.TEXT)
    arguments = (Reference(1, KEY.type), Constant(right, KEY.type))
    call = Call(function, name, Notation.OPERATOR, arguments, 0, KEY.type)
    with pytest.raises(error):
        bench.rows(DeltaProject(bench.read, (Computed(Field(3, "x", KEY.type), call),)), [(3, "", 1)])


@pytest.mark.parametrize(
    ("text", "type_", "expected"),
    [
        *(
            (text, TEXT_C, text)
            for text in ("'", "\\", "\\'", "${spark.app.name}", "$1", "\\u0041", "a\n\tb", "😀")
        ),
        ("-0.050", NUMBER, Decimal("-0.050")),
        ("1e3", NUMBER, Decimal(1000)),
        ("-9223372036854775808", SqlType(INT8), -(2**63)),
        ("2024-02-29", SqlType(DATE), date(2024, 2, 29)),
        ("2024-02-29 12:00:00.5", SqlType(TIMESTAMP), datetime(2024, 2, 29, 12, 0, 0, 500_000)),
        ("Infinity", SqlType(FLOAT8), float("inf")),
        ("t", SqlType(BOOL), True),
        (
            "1 year -2 days +03:04:05.6",
            SqlType(INTERVAL),
            {"months": 12, "days": -2, "microseconds": 11_045_600_000},
        ),
        (None, NUMBER, None),
    ],
)
def test_constants_are_what_they_say(
    session: SparkSession, text: str | None, type_: SqlType, expected: object
) -> None:
    rendered = render(Constant(text, type_), {})
    (row,) = collect(session, f"SELECT {rendered.sql} AS v").to_pylist()
    assert row["v"] == expected


class Files:
    """Buffer 0 in one file, of which some offsets are read."""

    def __init__(self, part: InFile) -> None:
        self._part = part

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        return [self._part] if buffer == 0 and range[0] < range[1] else []

    def count(self, buffer: int, range: Range) -> int:
        return sum(part.rows for part in self.parts(buffer, range))

    def names(self, buffer: int) -> Mapping[int, str]:
        return {1: "a7", 2: "a2"} if buffer == 0 else {}


def test_files_are_read_within_their_offsets(session: SparkSession, tmp_path: Path) -> None:
    offsets = pa.array([10, 20, 30, 30], pa.int64()).dictionary_encode()
    columns = {
        "a2": pa.array(["a", "b", "c", None]),
        "a7": pa.array([1, 2, 3, 4], pa.int32()),
        "weight": pa.array([1, 1, -1, 1], pa.int64()),
        "commit_lsn": offsets,
        "is_update": pa.array([False] * 4),
    }
    file = tmp_path / "batch.parquet"
    pq.write_table(pa.table(columns), file, store_schema=False)
    schemas: dict[int, Schema] = {0: {1: Plain.INT32, 2: Plain.TEXT}, 1: {1: Plain.INT32, 2: Plain.TEXT}}
    read = Read(0, Moment.CHANGE, (KEY, VALUE))
    firing = Firing(Subplan(1, (0,), (Step(1, "outcome", read),), ""), {0: (10, 30), 1: (0, 0)}, schemas)
    outcome = fire(session, firing, Files(InFile(file.as_uri(), 4, 10, 20)))
    assert outcome.rows.to_pylist() == [{"c1": 2, "c2": "b", "weight": 1}]
    everything = fire(session, firing, Files(InFile(file.as_uri(), 4)))
    assert everything.rows.num_rows == 4
