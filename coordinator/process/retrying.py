"""Tables that could not be captured are copied again when it is their turn."""

from __future__ import annotations

import time

from psycopg import Connection

from catalog.capture.captured import captured_among
from catalog.capture.stopped import note_forbidden, retry_copy, stopped_tables
from coordinator.decide.stopped_tables import StoppedTables, tables_to_copy


class Retrying:
    """Tries again to copy the tables of one database whose capture was stopped."""

    def __init__(self) -> None:
        self._state = StoppedTables()

    def step(self, connection: Connection) -> None:
        """Have tables copied again whose turn it is."""
        stopped = stopped_tables(connection)
        for table in stopped:
            if table.is_forbidden and table.is_awaited:
                note_forbidden(connection, table.relation)
        self._state, again = tables_to_copy(self._state, stopped, time.monotonic())
        for relation in again:
            retry_copy(connection, relation)
        if self._state.pauses:
            self._state = self._state.without(captured_among(connection, self._state.pauses))
