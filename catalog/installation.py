"""Whether the schema is in a database, and whether the database is the one that it was made in."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row


@dataclass(frozen=True, slots=True)
class Installation:
    """What warehouse and slot are named by; with `is_elsewhere` they belong to another database."""

    id: UUID
    is_elsewhere: bool


def is_installed(connection: Connection) -> bool:
    """Whether the schema is there, in whatever version."""
    installed = connection.execute("SELECT to_regclass('gavial.capture')").fetchone()
    return installed is not None and installed[0] is not None


def is_elsewhere(connection: Connection) -> bool:
    """Whether the database is a copy, or was restored, and no query of it was resumed since."""
    row = connection.execute("SELECT gavial.is_elsewhere()").fetchone()
    return row is None or bool(row[0])


def read_installation(connection: Connection) -> Installation:
    """The installation in this database."""
    cursor = connection.cursor(row_factory=class_row(Installation))
    installation = cursor.execute("SELECT id, gavial.is_elsewhere() FROM gavial.installation").fetchone()
    assert installation is not None
    return installation
