"""Tables of results: what they are called, who may write them, their columns, and those that they lack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg import Connection
from psycopg.sql import Identifier

from catalog.errors import ResultDiffers
from catalog.postgres.schema import TableName
from catalog.rows import row_of, rows_of, value_of

PLACE_IN_LIST: Final = "gavial.place_in_list"
"""The function that tells by what values in a list are sorted where the query leaves the order open."""


def permit_writing(connection: Connection, relation: int) -> None:
    """Have the guard of a result let this transaction write it."""
    connection.execute("SELECT pg_catalog.set_config('gavial.publishing', %s, true)", (str(relation),))


def add_missing_columns(connection: Connection, relation: int, view: int) -> None:
    """Give the table of a result the columns of the query's hidden view that it lacks."""
    command = value_of(connection, "SELECT gavial.add_columns_command(%s, %s)", (relation, view))
    if command:
        connection.execute(command)


def table_name(connection: Connection, relation: int) -> Identifier:
    """The qualified name of a relation."""
    name = row_of(
        connection,
        TableName,
        "SELECT n.nspname AS schema, c.relname AS name FROM pg_catalog.pg_class AS c "
        "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = %s",
        (relation,),
    )
    if name is None:
        raise ResultDiffers("the table of the result is gone")
    return Identifier(name.schema, name.name)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of the table; `domain`: its type if that is a domain, as PostgreSQL writes it."""

    name: str
    domain: str | None


def columns_of(connection: Connection, relation: int) -> tuple[TableColumn, ...]:
    """The columns of the table."""
    return rows_of(
        connection,
        TableColumn,
        "SELECT a.attname AS name, CASE WHEN t.typtype = 'd' "
        "THEN pg_catalog.format_type(a.atttypid, a.atttypmod) END AS domain "
        "FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid "
        "WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        (relation,),
    )
