"""What capture leaves behind, and when it may go."""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from catalog.store import hold_epoch, manifest
from sources.warehouse.site import Place

_SCHEMAS: Final = """
    WITH gone AS (
        DELETE FROM gavial.defaults d
        WHERE NOT EXISTS (SELECT FROM gavial.sources o WHERE o.relation = d.relation))
    DELETE FROM gavial.schemas s WHERE NOT EXISTS (SELECT FROM gavial.sources o WHERE o.relation = s.relation)
"""
_BATCHES: Final = """
    DELETE FROM gavial.batches b
    WHERE b.buffer LIKE 'table-%'
        AND NOT EXISTS (SELECT FROM gavial.sources s WHERE b.buffer = 'table-' || s.relation::oid)
    RETURNING b.file
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
_FORGET: Final = """
    UPDATE gavial.capture SET slot = NULL, position = NULL, position_time = NULL, state = 'stopped',
        detail = NULL, retained_wal = NULL
"""


def remove_dismissed(connection: Connection, place: Place) -> int:
    """Take what capture kept of them out of the catalog, and delete their files; how many there were."""
    with connection.transaction():
        hold_epoch(connection, place.epoch)
        connection.execute(_SCHEMAS)
        files = [row[0] for row in connection.execute(_BATCHES)]
    place.warehouse.remove(files)
    return len(files)


def remove_unnamed(connection: Connection, place: Place) -> None:
    """Delete files that a killed process left; nobody may be sealing."""
    named = {batch.file for batch in manifest(connection)}
    place.warehouse.remove(place.warehouse.unnamed(named))


def drop_slot(connection: Connection, place: Place) -> None:
    """Capture ends: the server keeps no WAL for it any more."""
    connection.execute(_DROP)
    with connection.transaction():
        hold_epoch(connection, place.epoch)
        connection.execute(_FORGET)
