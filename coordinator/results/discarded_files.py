"""Files that are deleted as soon as nobody reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from queue import SimpleQueue

from sources.warehouse.warehouse import Warehouse

log = logging.getLogger(__name__)


class DiscardedFiles:
    """Files that neither the manifest names nor capture reads; the thread that computes deletes them."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._files: SimpleQueue[tuple[str, ...]] = SimpleQueue()

    def add(self, files: Iterable[str]) -> None:
        """Have files removed; any thread may call this."""
        self._files.put(tuple(files))

    def remove(self) -> None:
        """Remove the files that were added, between two computations."""
        while not self._files.empty():
            try:
                self._warehouse.remove(self._files.get())
            except OSError as error:
                log.error("files that nobody reads cannot be removed: %s", error)
