"""Keeps the results of one database: reads what is known, decides, and has it carried out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime

from psycopg import Connection

from catalog.queries.executions import forget_progress
from catalog.queries.paces import periods
from catalog.queries.running import last_changes, running_queries, waiting_runs
from coordinator.decide.decide import State, carry_out, decide, is_still_known
from coordinator.decide.due import counts_rows
from coordinator.decide.facts import Facts
from coordinator.firing.engine import EngineThread
from coordinator.process.context_thread import ContextThread
from coordinator.process.shell import DatabaseShell
from coordinator.results.discarded_files import DiscardedFiles
from coordinator.results.positions_in_use import PositionsInUse
from sources.server.session import connect
from sources.warehouse.site import CaptureSite


class ResultLoop(ContextThread):
    """Runs inside its context, in a thread; what ends it before is raised by `check`."""

    def __init__(self, site: CaptureSite, position: Callable[[], int], engine: EngineThread) -> None:
        self.positions = PositionsInUse(position)
        self._site = site
        self._position = position
        self._engine = engine
        self._discarded = DiscardedFiles(site.warehouse, self.positions)
        self._read_at = float("-inf")
        super().__init__("results", threading.Event(), self._run)

    def discard(self, files: Iterable[str]) -> None:
        """Delete files of the warehouse as soon as nobody reads them; any thread may ask for it."""
        self._discarded.add(files)

    def _run(self) -> None:
        """Compute results until told to stop; what fails is reported where users look, and tried again."""
        with connect(self._site.address, "gavial results") as connection:
            connection.execute("LISTEN gavial")
            forget_progress(connection)
            shell = DatabaseShell(
                connection=connection,
                site=self._site,
                position=self._position,
                engine=self._engine,
                positions=self.positions,
                discarded=self._discarded,
                stop=self._stop,
            )
            state, known = State(), None
            try:
                while not self._stop.is_set():
                    facts = self._facts(connection, state, known)
                    state, actions = decide(state, facts)
                    state = carry_out(state, actions, facts, shell)
                    age = time.monotonic() - self._read_at
                    known = facts if is_still_known(state, facts, actions, age) else None
                shell.collect_garbage()
            finally:
                shell.release()

    def _facts(self, connection: Connection, state: State, known: Facts | None) -> Facts:
        """What is known now; the position is read first, so that what it includes is there.

        `known`: what the catalog says, if it need not be read again.
        """
        position = self.positions.begin_decision(state.results.positions)
        now, seconds = datetime.now(UTC), time.monotonic()
        if known is not None:
            return replace(known, now=now, seconds=seconds, position=position)
        self._read_at = seconds
        queries = running_queries(connection)
        counting = [query.id for query in queries if counts_rows(query)]
        arrived = periods(connection, counting) if counting else {}
        return Facts(
            now=now,
            seconds=seconds,
            position=position,
            queries=queries,
            runs=waiting_runs(connection),
            rows_waiting={id: sum(period.arrived.values()) for id, period in arrived.items()},
            changed_at=last_changes(connection, state.results.resting.seen_at),
        )
