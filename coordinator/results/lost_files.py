"""Failures that come from files which the warehouse has lost."""

from __future__ import annotations

from uuid import UUID

from psycopg import Connection

from catalog.errors import ConcurrentChange, DamagedBatch, EngineFailed, InputOutputError
from catalog.queries.running import require_copied_before
from coordinator.results.failing import ends_all
from sources.tables.losses import forget_lost
from sources.warehouse.site import CaptureSite


def loss_behind(
    connection: Connection, site: CaptureSite, error: Exception, query: UUID, position: int
) -> Exception | None:
    """The loss behind an error of a query, if files are lost; they are made again from now on.

    They may have been replaced while they were read, and the whole warehouse may be away for a while.
    """
    if not isinstance(error, DamagedBatch | EngineFailed | InputOutputError | OSError):
        return None
    try:
        lost = forget_lost(connection, site)
        require_copied_before(connection, query, position)
    except Exception as other:
        if ends_all(other, connection):
            raise
        return other
    return ConcurrentChange("files of the warehouse are lost, and are made again") if lost else None
