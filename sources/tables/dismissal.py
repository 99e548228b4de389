"""Removes what capture leaves behind."""

from __future__ import annotations

from psycopg import Connection

from catalog.capture.captured import forget_dismissed
from catalog.capture.slot import drop_followed_slot, end_capture
from catalog.capture.store import held_epoch, manifest
from sources.warehouse.site import CaptureSite


def remove_dismissed(connection: Connection, site: CaptureSite) -> int:
    """Remove dismissed tables from the catalog, and delete their files; how many there were."""
    with held_epoch(connection, site.epoch):
        files = forget_dismissed(connection)
    site.warehouse.remove(files)
    return len(files)


def remove_unnamed(connection: Connection, site: CaptureSite) -> None:
    """Delete files that a killed process left; nobody may be sealing."""
    named = {batch.file for batch in manifest(connection)}
    site.warehouse.sweep(named)


def drop_slot(connection: Connection, site: CaptureSite) -> None:
    """Drop the slot at the end of capture, so that the server keeps no WAL for it."""
    drop_followed_slot(connection)
    with held_epoch(connection, site.epoch):
        end_capture(connection)
