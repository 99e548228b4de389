"""PostgreSQL's statistics of tables, for the planner; and as JSON, to be kept with a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from psycopg import Connection

from catalog.postgres.description import Sizes
from catalog.postgres.description_reader import read_sizes
from catalog.postgres.schema import Table, TableName
from catalog.postgres.types import SqlType
from dialect.expressions.scalar import Constant
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.facts.instants import number_of


def read_statistics(connection: Connection, tables: Iterable[Table]) -> Statistics:
    """The statistics that PostgreSQL has now; none for a table that was dropped meanwhile."""
    return statistics_of(read_sizes(connection, [table.oid for table in tables]))


def statistics_of(tables: Iterable[Sizes]) -> Statistics:
    """The statistics of tables, from the rows of `gavial.sizes`."""
    return Statistics(
        {
            TableName(table["schema"], table["name"]): _table(float(table["rows"]), table["columns"])
            for table in tables
        }
    )


def statistics_to_json(statistics: Statistics) -> dict[str, Any]:
    """The value as JSON has it."""
    tables = [
        [
            name.schema,
            name.name,
            table.rows,
            [[attribute, *astuple(column)] for attribute, column in sorted(table.columns.items())],
        ]
        for name, table in sorted(statistics.tables.items(), key=lambda item: astuple(item[0]))
    ]
    return {"tables": tables, "long_numbers": statistics.long_numbers}


def statistics_from_json(described: dict[str, Any] | list[Any]) -> Statistics:
    """The value that `statistics_to_json` wrote; an earlier version wrote the tables alone."""
    known: dict[str, Any] = {"tables": described} if isinstance(described, list) else described
    return Statistics(
        {
            TableName(schema, name): TableStatistics(
                rows, {attribute: ColumnStatistics(*values) for attribute, *values in columns}
            )
            for schema, name, rows, columns in known["tables"]
        },
        long_numbers=known.get("long_numbers", False),
    )


def _table(rows: float, columns: Iterable[Sequence[Any]]) -> TableStatistics:
    """A table's statistics: its rows, and its columns as in pg_stats with the type's oid before bounds."""
    rows = max(rows, 1.0)
    return TableStatistics(rows, _columns(rows, columns))


def _columns(rows: float, rows_of_columns: Iterable[Sequence[Any]]) -> Mapping[int, ColumnStatistics]:
    return {
        attribute: ColumnStatistics(
            distinct=max(1.0, -distinct * rows if distinct < 0 else distinct),
            null_share=nulls,
            least=_number(least, type_oid),
            greatest=_number(greatest, type_oid),
        )
        for attribute, distinct, nulls, type_oid, least, greatest in rows_of_columns
    }


def _number(text: str | None, type_oid: int) -> float | None:
    return None if text is None else number_of(Constant(text, SqlType(type_oid)))
