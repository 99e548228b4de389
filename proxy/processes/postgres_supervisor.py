"""Keeps the embedded PostgreSQL running: one that ended is started again, holding nothing else up."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from catalog.backoff import Backoff
from catalog.errors import ConfigurationError
from coordinator.embedded.postgres import EmbeddedPostgres

log = logging.getLogger(__name__)

_SHORTEST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 10.0
_STEADY_SECONDS: Final = 30.0
"""A server that has run for so long has recovered; its next end is a new one."""


class PostgresSupervisor:
    """Looks after a server that has been started."""

    def __init__(self, embedded: EmbeddedPostgres) -> None:
        self._embedded = embedded
        self._restart: threading.Thread | None = None
        self._started = time.monotonic()
        self._backoff = Backoff(_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS).longer()

    def look(self) -> None:
        """Start the server again if it has ended; recovery may take its time in another thread."""
        if self._busy or self._embedded.poll() is None:
            return
        now = time.monotonic()
        if now > self._started + _STEADY_SECONDS:
            self._backoff = self._backoff.reset().longer()
        if now < self._started + self._backoff.seconds:
            return
        self._backoff = self._backoff.longer()
        self._started = now
        log.error("the embedded PostgreSQL ended; starting it again")
        self._restart = threading.Thread(target=self._start_again, name="restart", daemon=True)
        self._restart.start()

    def stop(self) -> None:
        """Stop the server; one that is still recovering, or whose files are gone, ends with this process."""
        if self._busy:
            return
        try:
            self._embedded.stop()
        except OSError as error:
            log.error("the embedded PostgreSQL was not stopped in order: %s", error)

    @property
    def _busy(self) -> bool:
        return self._restart is not None and self._restart.is_alive()

    def _start_again(self) -> None:
        try:
            self._embedded.restart()
        except (ConfigurationError, OSError) as error:
            log.error("the embedded PostgreSQL does not start: %s; trying again", error)
