"""TPC-H as a log that comes in equal steps: of every table the same share with each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.support.tpch_warehouse import Laboratory, empty, read_table, stamped
from catalog.capture.batch import Batch
from catalog.postgres.schema import TableName
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from sources.warehouse.warehouse import Warehouse, table_buffer

_EPOCH: Final = date(2000, 1, 1)

MANY: Final = 0.1
"""From this share of different values on PostgreSQL takes a column to get new ones as rows come."""

FEWEST_ROWS: Final = 1000
"""A table with fewer comes with the first step, as a whole."""


def progressive(directory: Path, scale: float, steps: int) -> Laboratory:
    """Make the tables, cut by the order of their keys; step n comes at position n."""
    made, source = empty(directory, scale)
    manifest: list[Batch] = []
    known: dict[TableName, TableStatistics] = {}
    for name, oid in made.oids.items():
        table = made.tables[name]
        rows = pa.concat_tables(read_table(source, table, made.environment))
        names = [f"a{number}" for number in range(1, len(table.columns) + 1)]
        known[name] = TableStatistics(float(rows.num_rows), spreads(rows))
        manifest += _sealed(made.warehouse, table_buffer(oid), rows.rename_columns(names), steps)
    return replace(made, manifest=tuple(manifest), statistics=Statistics(known))


def at_first(ends: Statistics) -> Statistics:
    """What is known of the beginning, when there is nothing, by one who has seen how such periods end."""
    return Statistics(
        {
            name: TableStatistics(0.0, {at: _at_first(column, of.rows) for at, column in of.columns.items()})
            for name, of in ends.tables.items()
        }
    )


def _at_first(column: ColumnStatistics, rows: float) -> ColumnStatistics:
    """A column with many different values has so many for each row that comes."""
    share = column.distinct / max(1.0, rows)
    grows = share >= MANY
    return replace(column, distinct=share if grows else column.distinct, grows=grows)


def _sealed(warehouse: Warehouse, buffer: str, rows: pa.Table, steps: int) -> Iterator[Batch]:
    count = rows.num_rows
    cuts = [
        0,
        *(steps * [count] if count < FEWEST_ROWS else (count * n // steps for n in range(1, steps + 1))),
    ]
    for step in range(1, steps + 1):
        part = rows.slice(cuts[step - 1], cuts[step] - cuts[step - 1])
        if part.num_rows:
            yield warehouse.seal(buffer, stamped(part, step), step - 1, step, 1)


def spreads(rows: pa.Table) -> dict[int, ColumnStatistics]:
    """What ANALYZE would find at the end, columns by their attribute numbers."""
    return {number: _spread(rows.column(number - 1)) for number in range(1, rows.num_columns + 1)}


def _spread(values: pa.ChunkedArray) -> ColumnStatistics:
    distinct = float(pc.count_distinct(values).as_py())
    ends = pc.min_max(values)
    least, greatest = (_number(ends[end].as_py()) for end in ("min", "max"))
    return ColumnStatistics(distinct, values.null_count / max(1, len(values)), least, greatest)


def _number(value: object) -> float | None:
    """A bound as statistics have it: days since 2000 for a date."""
    match value:
        case int() | float() | Decimal():
            return float(value)
        case date():
            return float((value - _EPOCH).days)
        case _:
            return None
