"""Whether somebody still waits for a run, and what is told to whoever does."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from psycopg import Connection

AWAITED: Final = "(process IS NULL OR EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = process))"
"""The condition on a row of gavial.runs that the session which waits for it is still there."""


def is_awaited(connection: Connection, runs: Collection[UUID]) -> bool:
    """Whether a client still waits for one of these."""
    cursor = connection.execute(
        f"SELECT FROM gavial.runs WHERE id = ANY (%s) AND state IN ('waiting', 'running') AND {AWAITED}",
        (list(runs),),
    )
    return cursor.rowcount > 0


def note_run(connection: Connection, run: UUID, words: str | None, state: str = "waiting") -> None:
    """Tell a waiting client what is being done for it; None: nothing of its own yet."""
    connection.execute("UPDATE gavial.runs SET progress = %s, state = %s WHERE id = %s", (words, state, run))
