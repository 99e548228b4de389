"""Tables that could not be captured are tried again: as soon as they may be read, else ever less often."""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from coordinator.failing import Patience

_STOPPED: Final = """
    SELECT s.relation::oid::int8, gavial.ungranted(s.relation, current_user) IS NOT NULL
    FROM gavial.sources s WHERE s.state = 'stopped' AND gavial.is_published(s.relation)
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


class Retrying:
    """Of one database."""

    def __init__(self) -> None:
        self._patience: dict[int, Patience] = {}
        self._forbidden: set[int] = set()

    def step(self, connection: Connection) -> None:
        """Have tables copied again whose turn it is."""
        stopped: dict[int, bool] = dict(connection.execute(_STOPPED).fetchall())
        for table, is_forbidden in stopped.items():
            if is_forbidden:
                self._forbidden.add(table)
                continue
            if table not in self._patience:
                self._patience[table] = Patience().longer()
            if table in self._forbidden or self._patience[table].is_over(False):
                self._forbidden.discard(table)
                self._patience[table] = self._patience[table].longer()
                connection.execute(_AGAIN, (table,))
        if self._patience:
            for (table,) in connection.execute(_CAPTURED, (list(self._patience),)):
                del self._patience[table]
