"""Lists in the catalog which rows the executor keeps to look them up."""

from __future__ import annotations

import logging
import time
from typing import Final

from psycopg import Connection

from catalog.capture.store import held_epoch
from catalog.queries.arrangements import ArrangementRow, list_arrangements
from coordinator.firing.engine import EngineThread
from coordinator.results.failing import ends_all
from sources.warehouse.site import CaptureSite

log = logging.getLogger(__name__)

_SECONDS: Final = 5.0
"""What has changed is listed no more often than this."""


class ListedArrangements:
    """What was listed last, and when. What is listed at a start is of a process that has ended."""

    def __init__(self, site: CaptureSite, engine: EngineThread) -> None:
        self._site = site
        self._engine = engine
        self._listed: tuple[ArrangementRow, ...] | None = None
        self._at = float("-inf")

    def list(self, connection: Connection) -> None:
        """List what is kept now, if it has changed and some time has passed."""
        now = time.monotonic()
        if now < self._at + _SECONDS:
            return
        self._at = now
        try:
            kept = tuple(self._engine.kept(self._site.warehouse.root))
            if kept != self._listed:
                with held_epoch(connection, self._site.epoch):
                    list_arrangements(connection, kept)
            self._listed = kept
        except Exception as error:
            if ends_all(error, connection):
                raise
            log.exception("what is kept by key cannot be listed")  # results do not wait for it
