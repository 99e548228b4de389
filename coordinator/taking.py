"""A position that is taken in a thread of its own: the server first waits for open transactions."""

from __future__ import annotations

import threading

import psycopg

from sources.position import Position, Stopped, take_position


class Taking:
    """A position with a snapshot, as soon as there is one; held until it is released."""

    def __init__(self, address: str) -> None:
        self.position: Position | None = None
        self.waits_for: int | None = None
        self.error: psycopg.Error | None = None
        self._address = address
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._hold, name="position", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Nobody needs it any more."""
        self._released.set()

    def _hold(self) -> None:
        try:
            with take_position(self._address, lambda: not self._released.is_set(), self._tell) as position:
                self.position = position
                self._released.wait()
        except Stopped:
            return
        except psycopg.Error as error:
            self.error = error

    def _tell(self, process: int) -> None:
        self.waits_for = process
