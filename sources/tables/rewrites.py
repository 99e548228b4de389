"""Tables of which what was captured does not hold any more, though the stream told nothing of it."""

from __future__ import annotations

import logging

from psycopg import Connection

from catalog.captured import copy_rewritten
from sources.warehouse.site import Place

log = logging.getLogger(__name__)


def notice_rewritten(connection: Connection, place: Place) -> None:
    """Have their tables copied anew: a TRUNCATE of a partition is none of the table that is published."""
    for table in copy_rewritten(connection, place.epoch):
        log.info("table %s: a partition lies in another file; it is copied anew", table)
