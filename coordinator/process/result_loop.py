"""Keeps the results of one database: reads what is known, decides, and has it carried out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from psycopg import Connection

from catalog.queries.executions import forget_progress
from catalog.queries.paces import periods
from catalog.queries.running import last_changes, running_queries, waiting_runs
from coordinator.decide.decide import State, carry_out, decide
from coordinator.decide.due import counts_rows
from coordinator.decide.facts import Facts
from coordinator.firing.engine import EngineThread
from coordinator.process.context_thread import ContextThread
from coordinator.process.shell import DatabaseShell
from coordinator.results.merging import Merging
from sources.server.session import connect
from sources.warehouse.site import CaptureSite


class ResultLoop(ContextThread):
    """Runs inside its context, in a thread; what ends it before is raised by `check`."""

    def __init__(self, site: CaptureSite, position: Callable[[], int], engine: EngineThread) -> None:
        self._site = site
        self._position = position
        self._engine = engine
        self._merging = Merging(site, position)
        super().__init__("results", threading.Event(), self._run)

    def discard(self, files: Iterable[str]) -> None:
        """Delete files of the warehouse as soon as nobody reads them; any thread may ask for it."""
        self._merging.discard(files)

    def _run(self) -> None:
        """Compute results until told to stop; what fails is reported where users look, and tried again."""
        with connect(self._site.address, "gavial answers") as connection:
            connection.execute("LISTEN gavial")
            forget_progress(connection)
            shell = DatabaseShell(
                connection, self._site, self._position, self._engine, self._merging, self._stop
            )
            state = State()
            try:
                while not self._stop.is_set():
                    facts = self._facts(connection, state)
                    state, actions = decide(state, facts)
                    state = carry_out(state, actions, facts, shell)
                shell.collect_garbage()
            finally:
                shell.release()

    def _facts(self, connection: Connection, state: State) -> Facts:
        """What is known now; the position is read first, so that what it includes is there."""
        position = self._position()
        queries = running_queries(connection)
        counting = [query.id for query in queries if counts_rows(query)]
        arrived = periods(connection, counting) if counting else {}
        return Facts(
            datetime.now(UTC),
            time.monotonic(),
            position,
            queries,
            waiting_runs(connection),
            {id: sum(period.arrived.values()) for id, period in arrived.items()},
            last_changes(connection, state.results.resting.seen_at),
        )
