"""What capture leaves behind, and when it may go."""

from __future__ import annotations

from psycopg import Connection

from catalog.capture.captured import forget_dismissed
from catalog.capture.slot import drop_followed_slot, end_capture
from catalog.capture.store import held_epoch, manifest
from sources.warehouse.site import Place


def remove_dismissed(connection: Connection, place: Place) -> int:
    """Take what capture kept of them out of the catalog, and delete their files; how many there were."""
    with held_epoch(connection, place.epoch):
        files = forget_dismissed(connection)
    place.warehouse.remove(files)
    return len(files)


def remove_unnamed(connection: Connection, place: Place) -> None:
    """Delete files that a killed process left; nobody may be sealing."""
    named = {batch.file for batch in manifest(connection)}
    place.warehouse.remove(place.warehouse.unnamed(named))


def drop_slot(connection: Connection, place: Place) -> None:
    """Capture ends: the server keeps no WAL for it any more."""
    drop_followed_slot(connection)
    with held_epoch(connection, place.epoch):
        end_capture(connection)
