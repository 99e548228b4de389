"""The thread in which batches are merged: neither results nor early runs keep it from its work."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from coordinator.process.context_thread import ContextThread
from coordinator.results.merging import Merging
from coordinator.results.positions_in_use import PositionsInUse
from sources.server.session import connect
from sources.warehouse.site import CaptureSite

LOOK_SECONDS: Final = 1.0
"""So long batches come before they are counted: capture seals fewer than twenty of a table in it."""


class MergingThread(ContextThread):
    """Merges inside its context; what ends it before is raised by `check`."""

    def __init__(self, site: CaptureSite, positions: PositionsInUse, scratch: Path) -> None:
        self._address = site.address
        stop = threading.Event()
        self._merging = Merging(site, positions, scratch, lambda: not stop.is_set())
        super().__init__("merging", stop, self._run)

    def _run(self) -> None:
        with connect(self._address, "gavial merging") as connection:
            while not self._stop.wait(LOOK_SECONDS):
                self._merging.look(connection)
