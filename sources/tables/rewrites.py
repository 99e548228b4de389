"""Tables of which what was captured does not hold any more, though the stream told nothing of it."""

from __future__ import annotations

import logging
from typing import Final

from psycopg import Connection

from sources.warehouse.site import Place

log = logging.getLogger(__name__)

_REWRITTEN: Final = """
    WITH found AS (
        SELECT s.relation FROM gavial.sources s JOIN gavial.capture c ON c.epoch = %s
        WHERE s.state = 'captured' AND gavial.has_other_files(s.files) FOR UPDATE OF s SKIP LOCKED)
    UPDATE gavial.sources s
    SET state = 'joining', detail = 'a partition was truncated by itself, or written anew; it is copied anew'
    FROM found WHERE s.relation = found.relation RETURNING s.relation::text
"""

_DAMAGED: Final = """
    UPDATE gavial.sources s SET state = 'joining', detail = %(why)s
    FROM gavial.capture c
    WHERE c.epoch = %(epoch)s AND s.state = 'captured' AND 'table-' || s.relation::oid = %(buffer)s
"""


def copy_anew(connection: Connection, place: Place, buffer: str, why: str) -> None:
    """Have the table of a buffer copied anew; nothing if it is none of a table."""
    connection.execute(_DAMAGED, {"why": f"{why}; it is copied anew", "epoch": place.epoch, "buffer": buffer})


def notice_rewritten(connection: Connection, place: Place) -> None:
    """Have their tables copied anew: a TRUNCATE of a partition is none of the table that is published."""
    for (table,) in connection.execute(_REWRITTEN, (place.epoch,)).fetchall():
        log.info("table %s: a partition lies in another file; it is copied anew", table)
