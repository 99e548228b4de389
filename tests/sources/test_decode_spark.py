"""Decoded values, sealed and read by Spark: the same values, whatever their storage (G2)."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from catalog.postgres.storage import FREE_NUMERIC, Decimal, ListOf, Padded, Plain, Storage
from dialect.expressions.moment_text import (
    FIRST_DAY,
    INFINITE_DAYS,
    INFINITE_MICROSECONDS,
    LAST_DAY,
    MICROSECONDS_A_DAY,
)
from executors.spark.session import SparkSettings, close_session, open_session
from executors.spark.types import data_type
from sources.decode.arrow import arrow_type
from sources.warehouse.warehouse import Warehouse
from tests.support.capture.decoded_rows import told

pytestmark = pytest.mark.service

MICROSECONDS = [*INFINITE_MICROSECONDS, FIRST_DAY * MICROSECONDS_A_DAY, -1, 0, 2**63 - 2]
VALUES: dict[Storage, list[Any]] = {
    Plain.BOOLEAN: [True, False],
    Plain.INT16: [-(2**15), 0, 2**15 - 1],
    Plain.INT32: [-(2**31), 0, 2**31 - 1],
    Plain.INT64: [-(2**63), 0, 2**63 - 1],
    Plain.FLOAT32: [math.nan, math.inf, -math.inf, -0.0, 0.0, 2.0**-149, 1.5],
    Plain.FLOAT64: [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 0.1],
    Plain.TEXT: ["", " blanks ", "größer ☃ 𝄞", "x" * 100_000],
    Plain.JSONB: ["1.0", "{}"],
    Padded(3): ["", "ab"],
    Padded(None): ["", "ab "],
    Plain.BYTES: [b"", b"\0\xff", b"x" * 100_000],
    Plain.DATE: [*INFINITE_DAYS, FIRST_DAY, -719_163, -141_428, -1, 0, 2_932_897, LAST_DAY],
    Plain.TIME: [0, 1, MICROSECONDS_A_DAY],
    Plain.TIMESTAMP: MICROSECONDS,
    Plain.TIMESTAMPTZ: MICROSECONDS,
    Plain.INTERVAL: [
        {"months": -(2**31), "days": 2**31 - 1, "microseconds": -(2**63)},
        {"months": 2**31 - 1, "days": 2**31 - 1, "microseconds": 2**63 - 1},
        {"months": 0, "days": 0, "microseconds": 0},
    ],
    Decimal(38, 18): ["99999999999999999999.999999999999999999", "-0.000000000000000001", "0"],
    Decimal(38, 0): ["-99999999999999999999999999999999999999"],
    Decimal(15, 2): ["-9999999999999.99", "0.01"],
    Decimal(5, 5): ["0.99999"],
    FREE_NUMERIC: [
        {"value": decimal.Decimal("2.5"), "text": "2.50"},
        {"value": None, "text": "NaN"},
        {"value": None, "text": "1" + "0" * 40},
    ],
}
VALUES |= {ListOf(storage): [[*values, None], []] for storage, values in VALUES.items()}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


def column(storage: Storage, rows: int) -> pa.Array:
    """The values, and NULL in the other rows."""
    values = VALUES[storage]
    return pa.array([*values, *[None] * (rows - len(values))], arrow_input(storage)).cast(arrow_type(storage))


def arrow_input(storage: Storage) -> pa.DataType:
    """What the values above can be written in: numbers of days and microseconds, decimals as texts."""
    match storage:
        case ListOf(element=element):
            return pa.list_(arrow_input(element))
        case Decimal():
            return pa.string()
        case Plain.DATE:
            return pa.int32()
        case Plain.TIMESTAMP | Plain.TIMESTAMPTZ:
            return pa.int64()
        case _:
            return arrow_type(storage)


def test_spark_reads_what_was_sealed(session: SparkSession, tmp_path: Path) -> None:
    rows = max(map(len, VALUES.values())) + 1
    names = {storage: f"a{number}" for number, storage in enumerate(VALUES)}
    table = pa.table({"n": np.arange(rows)} | {names[storage]: column(storage, rows) for storage in VALUES})
    warehouse = Warehouse(str(tmp_path))
    batch = warehouse.seal("table-1", table, 0, 1, 1)
    fields = [StructField(name, data_type(storage)) for storage, name in names.items()]
    schema = StructType([StructField("n", LongType()), *fields])
    read = session.read.schema(schema).parquet(f"{warehouse.uri}/{batch.file}").orderBy("n").toArrow()
    for storage, name in names.items():
        assert told(read[name].combine_chunks()) == told(table[name].combine_chunks()), storage


@pytest.mark.parametrize("storage", [Plain.FLOAT32, Plain.FLOAT64])
def test_a_filter_finds_what_bounds_in_files_hide(
    session: SparkSession, tmp_path: Path, storage: Storage
) -> None:
    """Parquet's bounds know no NaN, and two zeros."""
    warehouse = Warehouse(str(tmp_path))
    batch = warehouse.seal("table-1", pa.table({"v": column(storage, 8)}), 0, 1, 1)
    read = session.read.schema(StructType([StructField("v", data_type(storage))])).parquet(
        f"{warehouse.uri}/{batch.file}"
    )
    counts = [read.where(condition).count() for condition in ("v = 0", "v = double('NaN')", "v > 1e300")]
    assert counts == [2, 1, 2]
