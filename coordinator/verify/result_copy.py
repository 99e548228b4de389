"""The result as it was when its verification began, in a table of the session's own."""

from __future__ import annotations

from dataclasses import replace

from psycopg import Connection
from psycopg.sql import SQL

from catalog.queries.result_tables import table_name
from catalog.rows import value_of
from coordinator.publish.result_table import ResultTable


def begin_copy(connection: Connection) -> None:
    """Begin to see the result as it is now, whatever is published from now on."""
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    connection.execute("SELECT pg_catalog.pg_current_snapshot()")


def copy_result(connection: Connection, table: ResultTable) -> ResultTable:
    """Copy the result, in a transaction that `begin_copy` has begun, and end it: nothing more is held."""
    name = table_name(connection, table.relation)
    connection.execute(SQL("CREATE TEMPORARY TABLE gavial_result (LIKE {})").format(name))
    connection.execute(SQL("INSERT INTO pg_temp.gavial_result SELECT * FROM {}").format(name))
    relation = value_of(connection, "SELECT 'pg_temp.gavial_result'::regclass::oid::int8")
    connection.execute("COMMIT")
    return replace(table, relation=int(relation))
