"""Runs what is due: each subplan as one statement over views of the buffers it reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Final, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import any_value, expr
from pyspark.sql.functions import sum as sum_of
from pyspark.sql.types import LongType, StructField, StructType

from catalog.errors import OutOfMemory
from dialect.spark.constants import constant
from dialect.spark.equality import identity, is_identified
from dialect.spark.numbers.written import converted
from dialect.spark.rendered import Rendered
from executors.executor import (
    AddedColumn,
    Buffers,
    Firing,
    Folder,
    InFile,
    InMemory,
    Outcome,
    Part,
    files_by_stretch,
    range_at,
)
from executors.rows import OFFSET, WEIGHT, Schema, arrow_schema, name_of
from executors.spark.compile.subplan import Statement, compile_subplan
from executors.spark.failures import FAILURES, as_error
from executors.spark.types import row_type
from executors.spark.writing import write
from executors.sql.nodes import view_of

log = logging.getLogger(__name__)

T = TypeVar("T")

NAME: Final = "Spark"

FEW_ROWS: Final = 20_000
"""So many rows are computed in one task, which needs no shuffle."""

BROADCAST_ROWS: Final = 500_000
"""A change of at most this many rows may be sent to every task."""

MOST_CHANGED: Final = 250_000
"""Of so many changed rows the outcome is expected to be small, and collected; of more, tasks write it."""


def fire(
    session: SparkSession, firing: Firing, buffers: Buffers, broadcast_rows: int = BROADCAST_ROWS
) -> Outcome:
    """The change of the buffer that the subplan writes; nothing runs where nothing came."""
    rows_in = firing.rows_in(buffers)
    if rows_in == 0 and not firing.first:
        return Outcome(arrow_schema(firing.schema).empty_table(), 0, 0)
    is_small = rows_in <= broadcast_rows
    statement = compile_subplan(firing.subplan, firing.schemas, firing.environment, is_small)
    return run(session, statement, firing, buffers, rows_in)


def run(
    session: SparkSession, statement: Statement, firing: Firing, buffers: Buffers, rows_in: int
) -> Outcome:
    """What a statement gives over views of the buffers, as far as the firing reads them."""
    for buffer, moment in statement.reads:
        schema = firing.schemas[buffer]
        parts = buffers.parts(buffer, range_at(firing.ranges[buffer], moment))
        frame = _frame(session, parts, schema, buffers.names(buffer))
        if firing.consolidate:
            frame = _consolidated(frame, schema)
        frame.createOrReplaceTempView(view_of(buffer, moment))
    if firing.folder is None:
        return Outcome(_collected(session, statement, firing.schema), rows_in, 1, NAME)
    if rows_in <= MOST_CHANGED:
        try:
            return Outcome(_collected(session, statement, firing.schema), rows_in, 1, NAME)
        except OutOfMemory:
            log.debug("an outcome is too much for the driver, and is written by tasks")
    nothing = arrow_schema(firing.schema).empty_table()
    written = _written(session, statement, firing.schema, firing.folder)
    return Outcome(nothing, rows_in, 1, NAME, written)


def _collected(session: SparkSession, statement: Statement, schema: Schema) -> pa.Table:
    return _tried(statement, lambda sql: collect(session, sql)).cast(arrow_schema(schema))


def _written(session: SparkSession, statement: Statement, schema: Schema, folder: Folder) -> int:
    def written(sql: str) -> int:
        with _errors_of_data():
            return write(session.sql(sql), schema, folder)

    return _tried(statement, written)


def _tried(statement: Statement, run: Callable[[str], T]) -> T:
    """What comes of the statement, or of the cautious one where that takes too much memory."""
    try:
        return run(statement.sql)
    except OutOfMemory:
        if statement.cautious is None:
            raise
        return run(statement.cautious)


def collect(session: SparkSession, sql: str) -> pa.Table:
    """The rows of a statement; an error in data as PostgreSQL would raise it."""
    with _errors_of_data():
        return session.sql(sql).toArrow()


@contextmanager
def _errors_of_data() -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise as_error(error) or error from error


def _frame(
    session: SparkSession, parts: Sequence[Part], schema: Schema, names: Mapping[int, str]
) -> DataFrame:
    tables = [part.table for part in parts if isinstance(part, InMemory)]
    frames = list(_from_files(session, [part for part in parts if isinstance(part, InFile)], schema, names))
    if tables or not frames:
        rows = pa.concat_tables([arrow_schema(schema).empty_table(), *tables])
        frames.append(session.createDataFrame(rows, row_type(schema)))
    frame = reduce(DataFrame.unionAll, frames)
    return frame.coalesce(1) if sum(part.rows for part in parts) <= FEW_ROWS else frame


def _consolidated(frame: DataFrame, schema: Schema) -> DataFrame:
    """Identical rows are summed up: 0 and -0 are equal, but not one row."""
    columns = [Rendered(name_of(column), storage) for column, storage in schema.items()]
    apart = [column for column in columns if not is_identified(column.storage)]
    keys = [
        expr(identity(column)).alias(f"key_{column.sql}") if column in apart else column.sql
        for column in columns
    ]
    sums = [sum_of(WEIGHT).alias(WEIGHT), *(any_value(column.sql).alias(column.sql) for column in apart)]
    summed = frame.groupBy(*keys).agg(*sums).where(f"{WEIGHT} <> 0")
    return summed.select(*(column.sql for column in columns), WEIGHT)


def _from_files(
    session: SparkSession, parts: Iterable[InFile], schema: Schema, names: Mapping[int, str]
) -> Iterable[DataFrame]:
    """One frame for the files that are read as a whole, and one for each other stretch of offsets."""
    in_files = StructType(
        [*row_type(schema, dict(names)).fields, StructField(OFFSET, LongType(), nullable=False)]
    )
    for (after, upto, added), files in files_by_stretch(parts).items():
        instead = {column.name: _constant(column) for column in added}
        columns = [f"{instead.get(names[column], names[column])} AS {name_of(column)}" for column in schema]
        frame = session.read.schema(in_files).parquet(*files)
        if after is not None:
            frame = frame.where(f"{OFFSET} > {after}L")
        if upto is not None:
            frame = frame.where(f"{OFFSET} <= {upto}L")
        yield frame.selectExpr(*columns, WEIGHT)


def _constant(added: AddedColumn) -> str:
    return converted(constant(added.text, added.type, added.storage), added.storage).sql
