"""Everything that is begun in PostgreSQL for one VERIFY statement: it ends with the statement.

The position is taken in a thread of its own, because the server first waits for open transactions. The thread
then looks whether the statement still waits: when it does not, the snapshot is let go of and what our
sessions do is cancelled, whatever the thread that computes is busy with.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import psycopg
from psycopg import Connection

from catalog.errors import Error
from catalog.queries.awaited import is_awaited
from coordinator.firing.engine import Cancelled
from sources.server.position import APPLICATION, Position, Stopped, take_position
from sources.server.session import connect

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_CANCEL_SECONDS: Final = 5.0


class SnapshotHolder:
    """A position with a snapshot, as soon as there is one, and sessions; all of it until nobody wants it."""

    def __init__(self, address: str, run: UUID) -> None:
        self.position: Position | None = None
        self.error: Error | psycopg.Error | None = None
        self._address = address
        self._run = run
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._sessions: set[Connection] = set()
        self._thread = threading.Thread(target=self._hold, name="position", daemon=True)
        self._thread.start()

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
                    return self.is_wanted() and is_awaited(looking, [self._run])

                name = self.session_name(self._run)
                with take_position(self._address, go_on, lambda _process: None, name) as position:
                    self.position = position
                    while go_on():
                        self._released.wait(_LOOK_SECONDS)
        except Stopped:
            pass
        except (Error, psycopg.Error) as error:
            self.error = error
        self._released.set()
        self._cancel()

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
