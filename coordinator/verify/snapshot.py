"""Everything that is begun in PostgreSQL for one VERIFY statement: it ends with the statement.

The position is taken in a thread of its own, because the server first waits for open transactions; where
PostgreSQL is not asked, none is. The thread then looks whether the statement still waits: when it does
not, the snapshot is let go of and what our sessions do is cancelled, whatever the thread that computes is
busy with.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import psycopg
from psycopg import Connection
from psycopg.sql import SQL

from catalog.errors import Error
from catalog.queries.awaited import is_awaited
from catalog.queries.result_tables import table_name
from catalog.queries.running import Run, Running
from catalog.rows import value_of
from coordinator.firing.engine import Cancelled
from coordinator.verify.choice import Choice, ComparedWith, choice
from sources.server.position import APPLICATION, Position, Stopped, take_position
from sources.server.session import connect

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.2
_CANCEL_SECONDS: Final = 5.0


class SnapshotHolder:
    """What a result is compared with, as soon as that is chosen, and sessions; until nobody wants it.

    `position`: one with a snapshot, as soon as there is one, where the result is compared with PostgreSQL's.
    """

    def __init__(self, address: str, query: Running, run: Run) -> None:
        self.choice: Choice | None = None
        self.position: Position | None = None
        self.error: Error | psycopg.Error | None = None
        self._address = address
        self._query = query
        self._run = run
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._sessions: set[Connection] = set()
        self._thread = threading.Thread(target=self._hold, name="position", daemon=True)
        self._thread.start()

    @property
    def target(self) -> int | None:
        """The position up to which everything has to be captured, as soon as it is known."""
        if self.choice is None:
            return None
        return self._run.target if self.position is None else self.position.lsn

    @staticmethod
    def session_name(run: UUID) -> str:
        """The name under which the server shows the session that takes the position of a run."""
        return f"{APPLICATION} {run}"

    def is_wanted(self) -> bool:
        """Whether the statement still waits; any thread may ask."""
        return not self._released.is_set()

    def release(self) -> None:
        """Let the snapshot go: nobody needs it any more."""
        self._released.set()

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """A session that does nothing else, so that whatever it does may be cancelled at any moment.

        Raises Cancelled where nobody waits any more.
        """
        with connect(self._address, "gavial verification") as session:
            with self._lock:
                if not self.is_wanted():
                    raise Cancelled
                self._sessions.add(session)
            try:
                yield session
            finally:
                with self._lock:
                    self._sessions.remove(session)

    def _hold(self) -> None:
        try:
            with connect(self._address, "gavial statement") as looking:

                def go_on() -> bool:
                    return self.is_wanted() and is_awaited(looking, [self._run.id])

                chosen = self._chosen(looking)
                if chosen.compared_with is ComparedWith.SPARK:
                    self.choice = chosen
                    self._wait(go_on)
                    return
                name = self.session_name(self._run.id)
                with take_position(self._address, go_on, lambda _process: None, name) as position:
                    self.position, self.choice = position, chosen
                    self._wait(go_on)
        except Stopped:
            pass
        except (Error, psycopg.Error) as error:
            self.error = error
        finally:
            self._released.set()
            self._cancel()

    def _chosen(self, session: Connection) -> Choice:
        """What the result is compared with: as the statement says, or else by the server's own estimate."""
        asked = self._run.compared_with
        if asked is not None:
            return choice(asked, 0.0)
        view = table_name(session, self._query.view)
        [explained] = value_of(session, SQL("EXPLAIN (FORMAT JSON) SELECT * FROM {}").format(view))
        return choice(None, explained["Plan"]["Total Cost"])

    def _wait(self, go_on: Callable[[], bool]) -> None:
        while go_on():
            self._released.wait(_LOOK_SECONDS)

    def _cancel(self) -> None:
        """Cancel the sessions again and again: between two commands there is nothing to cancel."""
        while True:
            with self._lock:
                sessions = tuple(self._sessions)
            if not sessions:
                return
            for session in sessions:
                try:
                    session.cancel_safe(timeout=_CANCEL_SECONDS)
                except psycopg.Error as error:
                    log.info("cannot cancel a verification: %s", error)
            threading.Event().wait(_LOOK_SECONDS)
