"""PostgreSQL's statistics of tables, for the planner; and as JSON, to be kept with a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg import Connection

from catalog.postgres.description import Sizes
from catalog.postgres.description_reader import read_sizes
from catalog.postgres.schema import Table, TableName
from catalog.postgres.types import SqlType
from catalog.rows import named
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
        {
            **named(name),
            "rows": table.rows,
            "columns": [
                {"attribute": attribute, **named(column)} for attribute, column in table.columns.items()
            ],
        }
        for name, table in statistics.tables.items()
    ]
    return {"tables": tables, "long_numbers": statistics.long_numbers}


def statistics_from_json(described: Mapping[str, Any]) -> Statistics:
    """The value that `statistics_to_json` wrote."""
    tables = {
        TableName(table["schema"], table["name"]): TableStatistics(
            table["rows"], dict(_kept_column(**column) for column in table["columns"])
        )
        for table in described["tables"]
    }
    return Statistics(tables, described["long_numbers"])


def _kept_column(attribute: int, **values: Any) -> tuple[int, ColumnStatistics]:
    return attribute, ColumnStatistics(**values)


def _table(rows: float, columns: Iterable[Mapping[str, Any]]) -> TableStatistics:
    """A table's statistics: its rows, and its columns as in pg_stats with the type's oid."""
    rows = max(rows, 1.0)
    return TableStatistics(rows, {column["attribute"]: _column(rows, column) for column in columns})


def _column(rows: float, column: Mapping[str, Any]) -> ColumnStatistics:
    distinct = column["distinct"]  # below zero as a share of the rows
    return ColumnStatistics(
        distinct=max(1.0, -distinct * rows if distinct < 0 else distinct),
        null_share=column["null_share"],
        least=_number(column["least"], column["type"]),
        greatest=_number(column["greatest"], column["type"]),
    )


def _number(text: str | None, type_oid: int) -> float | None:
    return None if text is None else number_of(Constant(text, SqlType(type_oid)))
