"""Which buffer has batches to merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg import Connection

from catalog.rows import row_of

# Who has not read a buffer yet will read all of it. A buffer of a node is read by its own query.
_NEXT: Final = """
    WITH read AS (SELECT o.buffer, min(o.position) AS upto FROM gavial.offsets o GROUP BY 1), settled AS (
        SELECT b.*, (s.emptied - '0/0')::int8 AS emptied,
            coalesce(r.upto, (c.position - '0/0')::int8) AS below
        FROM gavial.batches b CROSS JOIN gavial.capture c LEFT JOIN read r USING (buffer)
            LEFT JOIN gavial.sources s ON b.buffer = 'table-' || s.relation::oid
        WHERE s.state = 'captured' OR b.buffer LIKE 'node-%%'
    )
    SELECT buffer, below FROM settled WHERE to_offset <= below GROUP BY buffer, below, schema_version
    HAVING count(*) FILTER (WHERE rows <= %(rows)s AND bytes <= %(bytes)s) >= %(fewest)s
        OR bool_or(to_offset < emptied AND emptied <= below)
    ORDER BY random() LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Mergeable:
    """A buffer, and the position below which nobody looks between its batches."""

    buffer: str
    below: int


def next_mergeable(connection: Connection, *, rows: int, bytes: int, fewest: int) -> Mergeable | None:
    """Some buffer with at least `fewest` batches of so many rows and bytes or fewer, or with rows that a
    TRUNCATE took."""
    return row_of(connection, Mergeable, _NEXT, {"rows": rows, "bytes": bytes, "fewest": fewest})
