"""What PostgreSQL knows of its tables, for the planner; and the same as JSON, to be kept with a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final

from psycopg import Connection

from catalog.schema import Table, TableName
from catalog.types import SqlType
from dialect.scalar import Constant
from planner.instants import number_of
from planner.statistics import ColumnStatistics, Statistics, TableStatistics

# A table that was never analysed has -1; so many rows fit a page, roughly.
_ROWS: Final = """
    SELECT CASE WHEN c.reltuples >= 0 AND c.relpages > 0 OR c.reltuples > 0 THEN c.reltuples
                ELSE greatest(1000, pg_relation_size(c.oid) / 100) END::float8
    FROM pg_class c WHERE c.oid = %s
"""
_PARTITIONED: Final = """
    SELECT coalesce(sum(greatest(c.reltuples, 0)), 0)::float8
    FROM pg_partition_tree(%s) p JOIN pg_class c ON c.oid = p.relid WHERE p.isleaf
"""
_COLUMNS: Final = """
    SELECT a.attnum::int4, s.n_distinct::float8, s.null_frac::float8, a.atttypid::int8,
           (s.histogram_bounds::text::text[])[1],
           (s.histogram_bounds::text::text[])[cardinality(s.histogram_bounds::text::text[])]
    FROM pg_stats s
    JOIN pg_class c ON c.relname = s.tablename
    JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = s.schemaname
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = s.attname
    WHERE c.oid = %s AND NOT s.inherited
"""


def read_statistics(connection: Connection, tables: Iterable[Table]) -> Statistics:
    """As PostgreSQL has them now."""
    return Statistics({table.name: _table(connection, table.oid) for table in tables})


def statistics_to_json(statistics: Statistics) -> list[Any]:
    """The value as JSON has it."""
    return [
        [
            name.schema,
            name.name,
            table.rows,
            [[attribute, *astuple(column)] for attribute, column in sorted(table.columns.items())],
        ]
        for name, table in sorted(statistics.tables.items(), key=lambda item: astuple(item[0]))
    ]


def statistics_from_json(described: list[Any]) -> Statistics:
    """The value that `statistics_to_json` wrote."""
    return Statistics(
        {
            TableName(schema, name): TableStatistics(
                rows, {attribute: ColumnStatistics(*values) for attribute, *values in columns}
            )
            for schema, name, rows, columns in described
        }
    )


def _table(connection: Connection, oid: int) -> TableStatistics:
    (rows,) = connection.execute(_ROWS, (oid,)).fetchone() or (0.0,)
    (of_partitions,) = connection.execute(_PARTITIONED, (oid,)).fetchone() or (0.0,)
    cursor = connection.execute(_COLUMNS, (oid,))
    return table_statistics(max(float(rows), float(of_partitions)), cursor)


def table_statistics(rows: float, columns: Iterable[Sequence[Any]]) -> TableStatistics:
    """A table's, from its rows and the columns as pg_stats has them, the type's oid before the bounds."""
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
