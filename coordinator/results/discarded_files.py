"""Files that are deleted as soon as nobody reads them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable

from coordinator.results.positions_in_use import PositionsInUse
from sources.warehouse.warehouse import Warehouse

log = logging.getLogger(__name__)


class DiscardedFiles:
    """Files that neither the manifest names nor capture reads; the thread that computes deletes them."""

    def __init__(self, warehouse: Warehouse, positions: PositionsInUse) -> None:
        self._warehouse = warehouse
        self._positions = positions
        self._files: deque[tuple[int, tuple[str, ...]]] = deque()

    def add(self, files: Iterable[str]) -> None:
        """Have files removed; any thread may call this."""
        self._files.append((self._positions.now().decision, tuple(files)))

    def remove(self) -> None:
        """Remove the files that were added, between two computations; not those that another thread reads.

        What is held since a decision may read files that were discarded in it or later.
        """
        held = self._positions.oldest_held()
        while self._files and (held is None or self._files[0][0] < held):
            _, files = self._files.popleft()
            try:
                self._warehouse.remove(files)
            except OSError as error:
                log.error("files that nobody reads cannot be removed: %s", error)
