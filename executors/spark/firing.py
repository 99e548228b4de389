"""Runs what is due: each subplan as one statement over views of the buffers it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, Protocol, TypeAlias, assert_never

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import any_value, expr
from pyspark.sql.functions import sum as sum_of
from pyspark.sql.types import LongType, StructField, StructType

from catalog.errors import OutOfMemory
from dialect.spark_equality import identity, is_identified
from dialect.spark_rendered import Rendered
from executors.spark.compile import Statement
from executors.spark.compile_nodes import view_of
from executors.spark.failures import FAILURES, as_error
from executors.spark.relation import WEIGHT, Schema, name_of
from executors.spark.types import arrow_schema, row_type
from planner.weighted import Moment

OFFSET: Final = "commit_lsn"
"""The column of a file that says where in its buffer a row stands."""

FEW_ROWS: Final = 20_000
"""So many are worked in one task: it needs no shuffle."""

Range: TypeAlias = tuple[int, int]
"""Offsets (from, to] of a buffer."""


@dataclass(frozen=True, slots=True)
class InFile:
    """The rows of a Parquet file after one offset and up to another; None where the file begins or ends.

    `constants` are columns that the file lacks, by their names in files, and what is read instead.
    """

    uri: str
    rows: int
    after: int | None = None
    upto: int | None = None
    constants: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class InMemory:
    """Rows that need not be read: the buffer's columns by `name_of`, then the weight."""

    table: pa.Table

    @property
    def rows(self) -> int:
        """How many."""
        return int(self.table.num_rows)


Part: TypeAlias = InFile | InMemory


class Buffers(Protocol):
    """Where the rows of buffers lie."""

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        """The rows of a buffer in a range, in parts."""

    def count(self, buffer: int, range: Range) -> int:
        """How many rows came in a range, whether or not they are needed."""

    def names(self, buffer: int) -> Mapping[int, str]:
        """What the plan's columns are called in the buffer's files."""


@dataclass(frozen=True, slots=True)
class Firing:
    """A subplan's statement and how far it reads, buffer by buffer; its own range says what it wrote so far.

    The first firing of a subplan runs whether or not anything changed. `consolidate`: it sees no row that
    was taken back, so that none can raise an error.
    """

    writes: int
    statement: Statement
    ranges: Mapping[int, Range]
    first: bool = False
    consolidate: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a firing gave: rows by the schema of the buffer, and how many rows it was fed with."""

    rows: pa.Table
    rows_in: int
    jobs: int


def fire(session: SparkSession, firing: Firing, buffers: Buffers, schemas: Mapping[int, Schema]) -> Outcome:
    """The change of the buffer that the subplan writes; nothing runs where nothing came."""
    changed = [each for each, range in firing.ranges.items() if each != firing.writes and range[0] < range[1]]
    rows_in = sum(buffers.count(each, firing.ranges[each]) for each in changed)
    schema = arrow_schema(schemas[firing.writes])
    if rows_in == 0 and not firing.first:
        return Outcome(schema.empty_table(), 0, 0)
    for buffer, moment in firing.statement.reads:
        parts = buffers.parts(buffer, range_at(firing.ranges[buffer], moment))
        frame = _frame(session, parts, schemas[buffer], buffers.names(buffer))
        if firing.consolidate:
            frame = _consolidated(frame, schemas[buffer])
        frame.createOrReplaceTempView(view_of(buffer, moment))
    return Outcome(_collected(session, firing.statement).cast(schema), rows_in, 1)


def _collected(session: SparkSession, statement: Statement) -> pa.Table:
    try:
        return collect(session, statement.sql)
    except OutOfMemory:
        if statement.cautious is None:
            raise
        return collect(session, statement.cautious)


def collect(session: SparkSession, sql: str) -> pa.Table:
    """The rows of a statement; an error in data as PostgreSQL would raise it."""
    try:
        return session.sql(sql).toArrow()
    except FAILURES as error:
        raise as_error(error) or error from error


def range_at(range: Range, moment: Moment) -> Range:
    """The range of offsets whose changes are what is seen at a moment."""
    start, end = range
    match moment:
        case Moment.BEFORE:
            return 0, start
        case Moment.CHANGE:
            return start, end
        case Moment.AFTER:
            return 0, end
        case _:
            assert_never(moment)


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
    apart = [each for each in columns if not is_identified(each.storage)]
    keys = [expr(identity(each)).alias(f"key_{each.sql}") if each in apart else each.sql for each in columns]
    sums = [sum_of(WEIGHT).alias(WEIGHT), *(any_value(each.sql).alias(each.sql) for each in apart)]
    summed = frame.groupBy(*keys).agg(*sums).where(f"{WEIGHT} <> 0")
    return summed.select(*(each.sql for each in columns), WEIGHT)


def _from_files(
    session: SparkSession, parts: Iterable[InFile], schema: Schema, names: Mapping[int, str]
) -> Iterable[DataFrame]:
    """One frame for the files that are read as a whole, and one for each other stretch of offsets."""
    stretches: dict[tuple[int | None, int | None, tuple[tuple[str, str], ...]], list[str]] = {}
    for part in parts:
        stretches.setdefault((part.after, part.upto, part.constants), []).append(part.uri)
    in_files = StructType(
        [*row_type(schema, dict(names)).fields, StructField(OFFSET, LongType(), nullable=False)]
    )
    for (after, upto, constants), files in stretches.items():
        instead = dict(constants)
        columns = [f"{instead.get(names[column], names[column])} AS {name_of(column)}" for column in schema]
        frame = session.read.schema(in_files).parquet(*files)
        if after is not None:
            frame = frame.where(f"{OFFSET} > {after}L")
        if upto is not None:
            frame = frame.where(f"{OFFSET} <= {upto}L")
        yield frame.selectExpr(*columns, WEIGHT)
