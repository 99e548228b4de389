"""Whom a session of the server waits for."""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from catalog.rows import value_of

_BLOCKERS: Final = """
    SELECT coalesce(string_agg(gavial.process_words(b), ', '), 'others') FROM unnest(pg_blocking_pids(%s)) b
"""


def blockers(connection: Connection, process: int) -> str:
    """Whom a process waits for, in words."""
    return str(value_of(connection, _BLOCKERS, (process,)))
