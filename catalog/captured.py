"""The tables of a database that are captured or will be, and what their changes tell."""

from __future__ import annotations

from psycopg import Connection


def has_tables(connection: Connection) -> bool:
    """Whether there are tables to capture."""
    return connection.execute("SELECT FROM gavial.sources LIMIT 1").rowcount > 0


def has_slot(connection: Connection) -> bool:
    """Whether there is a replication slot, which the last table leaves behind for a moment."""
    return connection.execute("SELECT FROM gavial.capture WHERE slot IS NOT NULL").rowcount > 0


def tell_generated_columns(connection: Connection) -> None:
    """Have changes tell stored generated columns, where the server can."""
    connection.execute("SELECT gavial.tell_generated_columns()")


def told_columns(connection: Connection, relation: int) -> frozenset[int]:
    """The attnums of the columns of a table that its changes tell, and its copy has if it is captured."""
    cursor = connection.execute(
        "SELECT a.attnum::int FROM gavial.told_columns(%(relation)s) a WHERE NOT EXISTS ("
        "SELECT FROM gavial.sources s WHERE s.relation = %(relation)s::oid AND s.state = 'captured' "
        "AND a.attnum = ANY (s.outdated))",
        {"relation": relation},
    )
    return frozenset(row[0] for row in cursor)
