"""Tables that could not be captured are tried again: at once where they may be read now, or where a statement
waits that has seen no attempt yet; else ever less often.
"""

from __future__ import annotations

from psycopg import Connection

from catalog.stopped import captured_among, copy_again, note_forbidden, stopped_tables
from coordinator.failing import Patience


class Retrying:
    """Tries again to copy the tables of one database whose capture was stopped."""

    def __init__(self) -> None:
        self._patience: dict[int, Patience] = {}
        self._forbidden: set[int] = set()

    def step(self, connection: Connection) -> None:
        """Have tables copied again whose turn it is."""
        for stopped in stopped_tables(connection):
            table = stopped.relation
            if stopped.is_forbidden:
                self._forbidden.add(table)
                if stopped.is_awaited:
                    note_forbidden(connection, table)
                continue
            if table not in self._patience:
                self._patience[table] = Patience().longer()
            if stopped.is_awaited or table in self._forbidden or self._patience[table].is_over(False):
                self._forbidden.discard(table)
                self._patience[table] = self._patience[table].longer()
                copy_again(connection, table)
        if self._patience:
            for table in captured_among(connection, self._patience):
                del self._patience[table]
