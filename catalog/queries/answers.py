"""Tables of answers: who may write them, and the columns that they lack."""

from __future__ import annotations

from psycopg import Connection

from catalog.rows import value_of


def permit_writing(connection: Connection, relation: int) -> None:
    """Have the guard of an answer let this transaction write it."""
    connection.execute("SELECT pg_catalog.set_config('gavial.publishing', %s, true)", (str(relation),))


def add_missing_columns(connection: Connection, relation: int, view: int) -> None:
    """Give the table of an answer the columns of the query's hidden view that it lacks."""
    command = value_of(connection, "SELECT gavial.add_columns_command(%s, %s)", (relation, view))
    if command:
        connection.execute(command)
