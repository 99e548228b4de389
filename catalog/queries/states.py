"""Which states a query is to keep, as the catalog has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from catalog.rows import named


@dataclass(frozen=True, slots=True)
class DecidedState:
    """Rows of a buffer's files by columns of these, whether they are to be kept, and why."""

    buffer: str
    key: Sequence[str]
    kept: bool
    why: str
    predicted_bytes: int


def save_states(connection: Connection, query: UUID, states: Iterable[DecidedState]) -> None:
    """What is decided for a query, in place of what was."""
    connection.execute("DELETE FROM gavial.decided_states WHERE query_id = %s", (query,))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.decided_states (query_id, buffer, key, kept, why, predicted_bytes) "
            "VALUES (%(query)s, %(buffer)s, %(key)s, %(kept)s, %(why)s, %(predicted_bytes)s)",
            [{"query": query, **named(state)} for state in states],
        )
