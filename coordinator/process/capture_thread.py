"""The thread in which the changes of a database are captured."""

from __future__ import annotations

import threading
from pathlib import Path

from coordinator.process.context_thread import ContextThread
from sources.old_rows.mirrors import mirrors_beside
from sources.stream.capture import Capture
from sources.warehouse.site import CaptureSite


class Capturing(ContextThread):
    """Captures inside its context; what ends it before is raised by `check`."""

    def __init__(
        self, site: CaptureSite, slot: str, scratch: Path, allow_unbounded_wal: bool = False
    ) -> None:
        self._capture = Capture(site, slot, scratch, allow_unbounded_wal)
        self.mirrors = mirrors_beside(scratch)
        stop = threading.Event()
        super().__init__("capture", stop, lambda: self._capture.run(lambda: not stop.is_set()))

    def position(self) -> int:
        """Everything up to there is in the warehouse; 0 before it began."""
        return self._capture.position
