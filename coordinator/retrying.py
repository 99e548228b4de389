"""Tables that could not be captured are tried again: at once where they may be read now, or where a statement
waits that has seen no attempt yet; else ever less often.
"""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from catalog.awaited import AWAITED
from coordinator.failing import Patience

_STOPPED: Final = f"""
    SELECT s.relation::oid::int8,
        gavial.ungranted(s.relation, current_user) IS NOT NULL OR NOT gavial.is_published(s.relation),
        EXISTS (SELECT FROM gavial.runs JOIN gavial.reads r USING (query_id)
                WHERE r.relation = s.relation AND runs.state IN ('waiting', 'running') AND {AWAITED}
                  AND (s.attempted IS NULL OR s.attempted < runs.asked))
    FROM gavial.sources s WHERE s.state = 'stopped'
"""
_CAPTURED: Final = (
    "SELECT relation::oid::int8 FROM gavial.sources WHERE state = 'captured' AND relation::oid = ANY (%s)"
)
_AGAIN: Final = """
    WITH free AS (
        SELECT relation FROM gavial.sources
        WHERE relation::oid = %s AND state = 'stopped' FOR UPDATE SKIP LOCKED)
    UPDATE gavial.sources s SET state = 'joining', detail = NULL FROM free
    WHERE s.relation = free.relation
"""
# Whoever waits need not wait until somebody grants what is missing.
_STILL_FORBIDDEN: Final = """
    WITH free AS (
        SELECT relation FROM gavial.sources
        WHERE relation::oid = %s AND state = 'stopped' FOR UPDATE SKIP LOCKED)
    UPDATE gavial.sources s SET attempted = clock_timestamp() FROM free WHERE s.relation = free.relation
"""


class Retrying:
    """Tries again to copy the tables of one database whose capture was stopped."""

    def __init__(self) -> None:
        self._patience: dict[int, Patience] = {}
        self._forbidden: set[int] = set()

    def step(self, connection: Connection) -> None:
        """Have tables copied again whose turn it is."""
        for table, is_forbidden, is_awaited in connection.execute(_STOPPED).fetchall():
            if is_forbidden:
                self._forbidden.add(table)
                if is_awaited:
                    connection.execute(_STILL_FORBIDDEN, (table,))
                continue
            if table not in self._patience:
                self._patience[table] = Patience().longer()
            if is_awaited or table in self._forbidden or self._patience[table].is_over(False):
                self._forbidden.discard(table)
                self._patience[table] = self._patience[table].longer()
                connection.execute(_AGAIN, (table,))
        if self._patience:
            for (table,) in connection.execute(_CAPTURED, (list(self._patience),)):
                del self._patience[table]
