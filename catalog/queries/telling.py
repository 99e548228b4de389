"""What clients that wait for a result are told, and how their runs end."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from psycopg import Connection

from catalog.queries.running import Failure
from catalog.rows import named


def tell_refreshes(
    connection: Connection, queries: Collection[UUID], words: str | None, *, retrying: bool = False
) -> None:
    """Tell the clients whose REFRESH waits for these queries what is being done; nobody is waited for."""
    connection.execute(
        "WITH free AS (SELECT r.id FROM gavial.runs r WHERE r.query_id = ANY (%(queries)s) "
        "AND r.kind = 'refresh' AND r.state IN ('waiting', 'running') "
        "AND r.progress IS DISTINCT FROM %(words)s::text FOR NO KEY UPDATE SKIP LOCKED) "
        "UPDATE gavial.runs r SET progress = %(words)s, retrying = %(retrying)s FROM free "
        "WHERE r.id = free.id",
        {"queries": list(queries), "words": words, "retrying": retrying},
    )


def tell_retry(connection: Connection, query: UUID, message: str) -> None:
    """Tell all who wait for a query why its run is tried again: also who made the query, or replaced it."""
    words = f"trying again, because it failed: {message}"
    tell_refreshes(connection, [query], words, retrying=True)
    connection.execute(
        "WITH free AS (SELECT id FROM gavial.queries WHERE id = %(query)s AND status = 'initialising' "
        "AND status_detail IS DISTINCT FROM %(words)s::text FOR NO KEY UPDATE SKIP LOCKED) "
        "UPDATE gavial.queries q SET status_detail = %(words)s FROM free WHERE q.id = free.id",
        {"query": query, "words": words},
    )


def finish_refreshes(connection: Connection, query: UUID, position: int) -> None:
    """Tell all clients whose REFRESH asked for no more than what a published result has."""
    connection.execute(
        "UPDATE gavial.runs SET state = 'done', position = '0/0'::pg_lsn + %(position)s::numeric, "
        "progress = NULL WHERE query_id = %(query)s AND kind = 'refresh' "
        "AND state IN ('waiting', 'running') AND target <= '0/0'::pg_lsn + %(position)s::numeric",
        {"query": query, "position": position},
    )


def finish_verification(
    connection: Connection, run: UUID, position: int, compared_with: str, why: str | None
) -> None:
    """Tell a waiting client that its VERIFY is done, what its result was compared with, and why with that."""
    connection.execute(
        "UPDATE gavial.runs SET state = 'done', position = '0/0'::pg_lsn + %(position)s::numeric, "
        "progress = NULL, compared_with = %(with)s, detail = %(why)s WHERE id = %(run)s",
        {"run": run, "position": position, "with": compared_with, "why": why},
    )


def fail_run(connection: Connection, run: UUID, failure: Failure) -> None:
    """Tell a waiting client why its statement failed."""
    connection.execute(
        "UPDATE gavial.runs SET state = 'failed', sqlstate = %(sqlstate)s, message = %(message)s, "
        "detail = %(detail)s, hint = %(hint)s, progress = NULL "
        "WHERE id = %(run)s AND state IN ('waiting', 'running')",
        {"run": run, **named(failure)},
    )
