"""The thread in which the changes of a database are captured."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from sources.old_rows.mirrors import mirrors_beside
from sources.stream.capture import Capture
from sources.warehouse.site import CaptureSite


class Capturing:
    """Captures inside its context; what ends it before is raised by `check`."""

    def __init__(
        self, site: CaptureSite, slot: str, scratch: Path, allow_unbounded_wal: bool = False
    ) -> None:
        self._capture = Capture(site, slot, scratch, allow_unbounded_wal)
        self.mirrors = mirrors_beside(scratch)
        self._stop = threading.Event()
        self._thread = ThreadPoolExecutor(1, "capture")
        self._outcome = self._thread.submit(self._capture.run, lambda: not self._stop.is_set())

    def __enter__(self) -> Capturing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.shutdown()

    @property
    def runs(self) -> bool:
        """Whether it still captures, or tries to."""
        return not self._outcome.done()

    def position(self) -> int:
        """Everything up to there is in the warehouse; 0 before it began."""
        return self._capture.position

    def check(self) -> None:
        """Raise what ended it, if anything did."""
        if self._outcome.done():
            self._outcome.result()
