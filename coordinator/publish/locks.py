"""Locks on the table of a result, which nobody is made to wait for."""

from __future__ import annotations

import time
from typing import Final

from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier

from catalog.errors import ConcurrentChange
from catalog.queries.result_tables import add_missing_columns, table_name

_LOCK_SECONDS: Final = 1.5
_LOCK_PAUSE_SECONDS: Final = 0.005


def add_columns(connection: Connection, relation: int, view: int) -> None:
    """Add to the table the columns of the query that it lacks.

    Within the caller's transaction, which writes their values too. It tries for a while to find a moment in
    which nobody reads the table, so that no reader has to wait behind a long one.
    """
    end = time.monotonic() + _LOCK_SECONDS
    while not _is_locked_alone(connection, table_name(connection, relation), last=time.monotonic() > end):
        time.sleep(_LOCK_PAUSE_SECONDS)
    add_missing_columns(connection, relation, view)


def _is_locked_alone(connection: Connection, name: Identifier, *, last: bool) -> bool:
    try:
        with connection.transaction():
            connection.execute(SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(name))
    except errors.LockNotAvailable:
        if last:
            raise
        return False
    return True


def lock_result(connection: Connection, relation: int) -> None:
    """Take the lock under which rows are written, before the first of them, and without waiting for anybody.

    Whoever drops the table has it locked and waits for the row of its query, which the caller holds: to wait
    here would be a deadlock, and might fail their statement. The same holds for renaming it.
    """
    name = table_name(connection, relation)
    try:
        connection.execute(SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE NOWAIT").format(name))
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise ConcurrentChange("the table of the result is being renamed or dropped") from error


def require_unlocked(connection: Connection, relation: int) -> None:
    """Raise PostgreSQL's error if rows could not be written now; then nothing need be computed."""
    with connection.transaction():
        lock_result(connection, relation)
