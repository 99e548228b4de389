"""What clients are told that wait for a result, and how their runs end."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from psycopg import Connection

from catalog.queries.running import Failure
from catalog.rows import named


def tell_refreshes(connection: Connection, queries: Collection[UUID], words: str | None) -> None:
    """Tell the clients whose REFRESH waits for these queries what is being done; nobody is waited for."""
    connection.execute(
        "WITH free AS (SELECT r.id FROM gavial.runs r WHERE r.query_id = ANY (%(queries)s) "
        "AND r.kind = 'refresh' AND r.state IN ('waiting', 'running') "
        "AND r.progress IS DISTINCT FROM %(words)s::text FOR NO KEY UPDATE SKIP LOCKED) "
        "UPDATE gavial.runs r SET progress = %(words)s FROM free WHERE r.id = free.id",
        {"queries": list(queries), "words": words},
    )


def tell_all(connection: Connection, query: UUID, words: str) -> None:
    """Tell those too who made the query, or replaced it, and wait for its result."""
    tell_refreshes(connection, [query], words)
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


def finish_run(connection: Connection, run: UUID, position: int) -> None:
    """Tell a waiting client that its statement did well."""
    connection.execute(
        "UPDATE gavial.runs SET state = 'done', position = '0/0'::pg_lsn + %s::numeric, progress = NULL "
        "WHERE id = %s",
        (position, run),
    )


def fail_run(connection: Connection, run: UUID, failure: Failure) -> None:
    """Tell a waiting client why its statement failed."""
    connection.execute(
        "UPDATE gavial.runs SET state = 'failed', sqlstate = %(sqlstate)s, message = %(message)s, "
        "detail = %(detail)s, hint = %(hint)s, progress = NULL WHERE id = %(run)s",
        {"run": run, **named(failure)},
    )
