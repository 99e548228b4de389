"""The replication slot that capture follows, and what it costs the server."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import Connection

from catalog.rows import row_of

_FOLLOWED: Final = "SELECT slot, (position - '0/0')::bigint AS position FROM gavial.capture"
_FORGET: Final = """
    WITH gone AS (DELETE FROM gavial.batches WHERE buffer LIKE 'table-%%'),
        again AS (
            UPDATE gavial.sources
            SET state = 'joining', captured_from = NULL, position = NULL, buffer = NULL, emptied = NULL,
                detail = %(detail)s)
    UPDATE gavial.capture SET slot = %(slot)s, position = NULL, position_time = NULL
"""
_DROP: Final = """
    WITH ours AS (
        SELECT slot_name, active_pid FROM pg_replication_slots JOIN gavial.capture c ON c.slot = slot_name
        WHERE database = current_database()
    ), freed AS MATERIALIZED (
        SELECT slot_name, active_pid IS NULL OR pg_terminate_backend(active_pid, 5000) AS free FROM ours
    )
    SELECT pg_drop_replication_slot(slot_name) FROM freed WHERE free
"""
_LEAVE: Final = """
    UPDATE gavial.capture SET slot = NULL, position = NULL, position_time = NULL, state = 'stopped',
        detail = NULL, retained_wal = NULL
"""
# A row that somebody holds is that of a table about to change: it is not waited for.
_PROGRESS: Final = """
    WITH free AS (SELECT relation FROM gavial.sources WHERE state = 'captured' FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE gavial.sources s
    SET position = c.position, lag_bytes = pg_current_wal_lsn() - c.position, retained_wal = %(retained)s,
        rows_per_hour = coalesce((
            SELECT sum(a.rows) FROM gavial.arrivals a
            WHERE a.relation = s.relation AND a.hour >= date_trunc('hour', now() - interval '23 hours')
        ) / 24, 0)
    FROM gavial.capture c, free
    WHERE c.epoch = %(epoch)s AND s.relation = free.relation AND s.position IS DISTINCT FROM c.position
"""
_RETAINED: Final = """
    UPDATE gavial.capture SET retained_wal = %(retained)s, max_wal = %(most)s
    WHERE epoch = %(epoch)s AND (max_wal IS DISTINCT FROM %(most)s OR retained_wal IS NULL
        OR abs(retained_wal - %(retained)s) > 1048576)
"""


@dataclass(frozen=True, slots=True)
class FollowedSlot:
    """The name of the slot that is followed, and up to where everything is captured; None before."""

    slot: str | None
    position: int | None


def followed_slot(connection: Connection) -> FollowedSlot:
    """The slot that capture follows."""
    followed = row_of(connection, FollowedSlot, _FOLLOWED)
    assert followed is not None
    return followed


def follow_slot(connection: Connection, slot: str, detail: str | None) -> None:
    """Follow a slot from now on: what was captured is forgotten, and all tables join again."""
    connection.execute(_FORGET, {"slot": slot, "detail": detail})


def begin_capture(connection: Connection, position: int) -> None:
    """Everything is captured from a position on."""
    connection.execute("UPDATE gavial.capture SET position = '0/0'::pg_lsn + %s::numeric", (position,))


def drop_followed_slot(connection: Connection) -> None:
    """Drop the slot, and end whoever reads it; it stays where it is read for five seconds still.

    A slot that is being made goes by itself with whoever makes it.
    """
    with suppress(psycopg.errors.UndefinedObject):
        connection.execute(_DROP)


def end_capture(connection: Connection) -> None:
    """Capture follows no slot any more."""
    connection.execute(_LEAVE)


def note_retained_wal(connection: Connection, epoch: int, retained: int, most: int | None) -> None:
    """Tell users how far captured tables are, and how much WAL the server keeps for capture, in bytes."""
    values = {"epoch": epoch, "retained": retained, "most": most}
    connection.execute(_PROGRESS, values)
    connection.execute(_RETAINED, values)
