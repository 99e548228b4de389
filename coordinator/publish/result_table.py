"""The table of a result, and its rows as SQL over computed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from psycopg.sql import SQL, Composable, Composed, Identifier

from catalog.queries.result_tables import TableColumn
from coordinator.publish.computed_rows import StoredColumn

# Rows are found by this hash and by byte equality: a retraction repeats its row verbatim.
HASH: Final[LiteralString] = "pg_catalog.hashtextextended({row}::text, 0)"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """The table of a result, and its columns as expressions over the names of computed columns.

    `tolerances`: how far numbers in a column may be apart because floats were added in another order.
    """

    relation: int
    stored: tuple[StoredColumn, ...]
    finish: tuple[str, ...]
    tolerances: tuple[float | None, ...] = ()


def _value(value: str, column: TableColumn, table: Identifier) -> Composed:
    """A column's value; a NULL is not cast to a domain, which may forbid it."""
    if column.domain is None:
        return Composed([SQL(value)])
    return SQL(
        "CASE WHEN {value} IS NOT NULL THEN {value}::{domain} ELSE (NULL::{table}).{column} END"
    ).format(value=SQL(value), domain=SQL(column.domain), table=table, column=Identifier(column.name))


def _row(table: ResultTable, name: Identifier, columns: Sequence[TableColumn]) -> Composed:
    """A row of the table, from the computed columns."""
    values = [_value(value, column, name) for value, column in zip(table.finish, columns, strict=True)]
    return SQL("ROW({values})::{table}").format(values=SQL(", ").join(values), table=name)


def added_rows(
    table: ResultTable, name: Identifier, columns: Sequence[TableColumn], computed: Composable
) -> Composed:
    """Rows that are all new need not be compared, neither with each other nor with those that are there."""
    return SQL(
        "INSERT INTO {table} AS t SELECT (c.row).* FROM ("
        "SELECT {row} AS row, weight FROM {computed} OFFSET 0) AS c, "
        "pg_catalog.generate_series(1, c.weight)"
    ).format(table=name, row=_row(table, name, columns), computed=computed)


def changed_rows(
    table: ResultTable,
    name: Identifier,
    columns: Sequence[TableColumn],
    computed: Composable,
    from_scratch: bool = False,
) -> Composed:
    """The rows of the result, each once with its sum of weights, minus present rows if `from_scratch`."""
    present = SQL(" UNION ALL SELECT 0, t.*::{table}, -1 FROM {table} AS t").format(table=name)
    return SQL(
        "SELECT pg_catalog.row_number() OVER () AS number, {hash} AS hash, row, weight FROM ("
        "SELECT pg_catalog.min(number) AS number, (pg_catalog.array_agg(row))[1] AS row, "
        "pg_catalog.sum(weight)::pg_catalog.int8 AS weight "
        "FROM (SELECT 0 AS number, {row_of_table} AS row, weight FROM {computed}{present}) AS f "
        "GROUP BY row::text HAVING pg_catalog.sum(weight) <> 0) AS s"
    ).format(
        hash=SQL(HASH).format(row=SQL("row")),
        row_of_table=_row(table, name, columns),
        computed=computed,
        present=present if from_scratch else SQL(""),
    )
