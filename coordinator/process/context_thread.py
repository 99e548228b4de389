"""A thread that works inside a context."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

This = TypeVar("This", bound="ContextThread")


class ContextThread:
    """Works until its context ends, which `stop` tells; what ends it before is raised by `check`."""

    def __init__(self, name: str, stop: threading.Event, work: Callable[[], object]) -> None:
        self._stop = stop
        self._thread = ThreadPoolExecutor(1, name)
        self._outcome = self._thread.submit(work)

    def __enter__(self: This) -> This:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.shutdown()

    @property
    def runs(self) -> bool:
        """Whether it is still at work, or tries to be."""
        return not self._outcome.done()

    def check(self) -> None:
        """Raise what ended it, if anything did."""
        if self._outcome.done():
            self._outcome.result()
