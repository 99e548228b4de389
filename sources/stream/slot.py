"""The replication slot of a database: what it needs, how it is made, and what it costs the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from psycopg import Connection, pq

from catalog.capture.slot import begin_capture, follow_slot, followed_slot
from catalog.capture.store import held_epoch
from catalog.errors import ObjectNotInState, TooManyConnections
from catalog.rows import row_of, value_of
from sources.server.position import create_slot
from sources.server.prerequisites import FACTS, ServerFacts, lacks_of_server, refusal_of
from sources.stream.replication import system_position
from sources.warehouse.site import CaptureSite

_STATUS: Final = """
    SELECT coalesce(wal_status, 'lost') = 'lost' AS lost,
        coalesce(pg_current_wal_lsn() - restart_lsn, 0)::bigint AS retained
    FROM pg_replication_slots WHERE slot_name = %s AND database = current_database()
"""
_CONFIRMED: Final = """
    SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = %s
"""


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """The WAL that the server keeps for a slot, and the most it may keep (None: any amount), in bytes."""

    lost: bool
    retained: int
    most: int | None


def require_settings(connection: Connection, allow_unbounded_wal: bool) -> int | None:
    """The amount of WAL that the slot may keep; an error that names all missing settings."""
    facts = row_of(connection, ServerFacts, FACTS, (None,))
    assert facts is not None
    missing = tuple(lacks_of_server(facts, allow_unbounded_wal))
    if missing:
        raise refusal_of(missing)
    return None if facts.most_wal_kept is None or facts.most_wal_kept < 0 else facts.most_wal_kept


def slot_status(connection: Connection, slot: str, most: int | None) -> SlotStatus:
    """The status of the slot; a missing slot is lost."""
    return row_of(connection, partial(SlotStatus, most=most), _STATUS, (slot,)) or SlotStatus(True, 0, most)


def confirmed_position(connection: Connection, slot: str) -> int:
    """The position confirmed to the server, as far as it remembers it; it sends nothing before that."""
    return int(value_of(connection, _CONFIRMED, (slot,)) or 0)


def open_slot(
    connection: Connection,
    replication: pq.abc.PGconn,
    site: CaptureSite,
    slot: str,
    go_on: Callable[[], bool],
) -> int:
    """The position from which the changes of the slot are wanted.

    Without a slot that still has them, everything is forgotten and every table is copied again. Raises
    Stopped if capture is to stop while a new slot waits for writers.
    """
    followed = followed_slot(connection)
    if followed.slot != slot or followed.position is None:
        return _begin(connection, replication, site, slot, go_on, None)
    if slot_status(connection, slot, None).lost:
        lost = "the replication slot was lost; copied again"
        return _begin(connection, replication, site, slot, go_on, lost)
    if system_position(replication) < followed.position:
        raise ObjectNotInState(
            "the server is behind what was captured from it",
            detail="It was restored to an earlier state, or another server answers at its address.",
        )
    return followed.position


def free_slot(connection: Connection, slot: str) -> None:
    """End the session that reads the slot: it is of an earlier coordinator."""
    connection.execute(
        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
        "WHERE slot_name = %s AND active_pid IS NOT NULL",
        (slot,),
    )


def _begin(
    connection: Connection,
    replication: pq.abc.PGconn,
    site: CaptureSite,
    slot: str,
    go_on: Callable[[], bool],
    detail: str | None,
) -> int:
    with held_epoch(connection, site.epoch):
        follow_slot(connection, slot, detail)
    free_slot(connection, slot)
    connection.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", (slot,)
    )
    position = _create(replication, slot, go_on)
    with held_epoch(connection, site.epoch):
        begin_capture(connection, position)
    return position


def _create(replication: pq.abc.PGconn, slot: str, go_on: Callable[[], bool]) -> int:
    """Create a slot; the position from which it has all changes."""
    try:
        position, _snapshot = create_slot(replication, slot, "NOEXPORT_SNAPSHOT", go_on)
    except TooManyConnections:
        raise ObjectNotInState(
            "all replication slots of the server are in use",
            hint="Raise max_replication_slots and restart the server, or drop a slot nobody needs.",
        ) from None
    return position
