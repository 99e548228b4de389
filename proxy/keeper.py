"""Keeps the embedded PostgreSQL running: one that ended is started again, holding nothing else up."""

from __future__ import annotations

import logging
import threading

from catalog.errors import ConfigurationError
from coordinator.embedded.postgres import EmbeddedPostgres

log = logging.getLogger(__name__)


class Keeper:
    """Looks after a server that has been started."""

    def __init__(self, embedded: EmbeddedPostgres) -> None:
        self._embedded = embedded
        self._restart: threading.Thread | None = None

    def look(self) -> None:
        """Start the server again if it has ended; recovery may take its time in another thread."""
        if self._busy or self._embedded.poll() is None:
            return
        log.error("the embedded PostgreSQL ended; starting it again")
        self._restart = threading.Thread(target=self._start_again, name="restart", daemon=True)
        self._restart.start()

    def stop(self) -> None:
        """Stop the server; one that is still recovering ends with this process."""
        if not self._busy:
            self._embedded.stop()

    @property
    def _busy(self) -> bool:
        return self._restart is not None and self._restart.is_alive()

    def _start_again(self) -> None:
        try:
            self._embedded.restart()
        except (ConfigurationError, OSError) as error:
            log.error("the embedded PostgreSQL does not start: %s; trying again", error)
