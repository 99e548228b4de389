"""Whether the schema is in a database, and whether the database is the one that it was made in."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from catalog.rows import row_of, value_of


@dataclass(frozen=True, slots=True)
class Installation:
    """What warehouse and slot are named by; with `is_elsewhere` they belong to another database."""

    id: UUID
    is_elsewhere: bool


def is_installed(connection: Connection) -> bool:
    """Whether the schema is there, in whatever version."""
    return value_of(connection, "SELECT to_regclass('gavial.capture')") is not None


def is_elsewhere(connection: Connection) -> bool:
    """Whether the database is a copy, or was restored, and no query of it was resumed since."""
    return bool(value_of(connection, "SELECT gavial.is_elsewhere()"))


def read_installation(connection: Connection) -> Installation:
    """The installation in this database."""
    question = "SELECT id, gavial.is_elsewhere() FROM gavial.installation"
    installation = row_of(connection, Installation, question)
    assert installation is not None
    return installation
