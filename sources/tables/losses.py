"""Finds files that are named but lost; their content is copied or computed again."""

from __future__ import annotations

import logging

from psycopg import Connection

from catalog.capture.captured import copy_again
from catalog.capture.store import held_epoch, manifest
from catalog.queries.computed import forget_computed_with
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import is_table_buffer

log = logging.getLogger(__name__)


def forget_lost(connection: Connection, site: CaptureSite) -> frozenset[str]:
    """Have lost content made again; returns the buffers that it was in.

    A file of another length is lost as well. Raises InputOutputError if the warehouse itself is not there,
    since it may come back.
    """
    site.warehouse.require()
    # First the names, then the files: a file is there before it is named.
    named = manifest(connection)
    sizes = site.warehouse.sizes()
    gone = [batch for batch in named if sizes.get(batch.file) != batch.bytes]
    if not gone:
        return frozenset()
    # Files that were replaced meanwhile are named no longer.
    still = {batch.file for batch in manifest(connection)}
    lost = frozenset(batch.buffer for batch in gone if batch.file in still)
    for buffer in sorted(lost):
        log.error("buffer %s: a file is lost; what is in it is made again", buffer)
        if is_table_buffer(buffer):
            copy_again(connection, site.epoch, buffer, "a file of what was captured is lost")
        else:
            with held_epoch(connection, site.epoch):
                computed = forget_computed_with(connection, buffer)
            site.warehouse.remove(computed)
    return lost
