"""The logs of buffers as merging sees them: how many batches there are, and where their readers stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg import Connection

from catalog.rows import row_of, rows_of

# A table that is about to be copied again, or to leave, is left alone.
_LOGS: Final = """
    WITH read AS (
        SELECT buffer, array_agg(DISTINCT position ORDER BY position) AS stops FROM gavial.offsets
        GROUP BY 1)
    SELECT b.buffer, count(*)::int8 AS batches, sum(b.rows)::int8 AS rows, max(b.to_offset) AS upto,
        coalesce(r.stops, '{}') AS stops, coalesce((s.emptied - '0/0')::int8, 0) AS emptied
    FROM gavial.batches b LEFT JOIN read r USING (buffer)
        LEFT JOIN gavial.sources s ON b.buffer = 'table-' || s.relation::oid
    WHERE (s.state = 'captured' OR b.buffer LIKE 'node-%%') AND %(buffer)s IN ('', b.buffer)
    GROUP BY b.buffer, r.stops, s.emptied HAVING count(*) > 1
"""


@dataclass(frozen=True, slots=True)
class Log:
    """The batches of a buffer, counted; the positions up to which somebody has read it; its last TRUNCATE."""

    buffer: str
    batches: int
    rows: int
    upto: int
    stops: tuple[int, ...]
    emptied: int


def _log(*, buffer: str, batches: int, rows: int, upto: int, stops: list[int], emptied: int) -> Log:
    return Log(buffer, batches, rows, upto, tuple(stops), emptied)


def logs(connection: Connection) -> tuple[Log, ...]:
    """The logs of all buffers with several batches."""
    return rows_of(connection, _log, _LOGS, {"buffer": ""})


def log_of(connection: Connection, buffer: str) -> Log | None:
    """The log of one buffer, if it has several batches."""
    return row_of(connection, _log, _LOGS, {"buffer": buffer})
