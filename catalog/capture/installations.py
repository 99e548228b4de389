"""The installations of Gavial on a server: one in each database that has the schema."""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from catalog.rows import value_of, values_of

_DATABASES: Final = """
    SELECT d.datname::text FROM pg_database d WHERE d.datallowconn AND NOT d.datistemplate ORDER BY 1
"""


def databases(connection: Connection) -> tuple[str, ...]:
    """The databases of the server that take connections."""
    return tuple(values_of(connection, _DATABASES))


def closed_databases(connection: Connection) -> tuple[str, ...]:
    """Those that do not: nobody can say which installations they have."""
    query = "SELECT d.datname::text FROM pg_database d WHERE NOT d.datallowconn AND NOT d.datistemplate"
    return tuple(values_of(connection, query))


def installation_at_work(connection: Connection) -> str | None:
    """The same, unless the database is a copy: then the files are those of the one it was copied from."""
    installation = installation_of(connection)
    is_copy = installation is not None and value_of(connection, "SELECT gavial.is_elsewhere()")
    return None if is_copy else installation


def installation_of(connection: Connection) -> str | None:
    """The name of the database's folder in the warehouse; None where nothing is installed."""
    if value_of(connection, "SELECT to_regclass('gavial.installation')") is None:
        return None
    id = value_of(connection, "SELECT id::text FROM gavial.installation")
    return None if id is None else str(id)
