"""Keeps the number of batches low: one merge at a time, whenever there is nothing else to do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from psycopg import Connection

from catalog.capture.captured import copy_again
from catalog.errors import DamagedBatch, InputOutputError
from catalog.queries.mergeable_buffers import Mergeable, next_mergeable
from coordinator.decide.actions import MergeOutcome
from sources.warehouse.merging import FEWEST_BATCHES, SMALL_BYTES, SMALL_ROWS, merge_batches
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import is_table_buffer

log = logging.getLogger(__name__)


class Merging:
    """Merges batches in the thread that computes results, between two of them.

    Capture reads batches too, to take back rows at a TRUNCATE. So merged files are deleted only after capture
    has advanced, when it has finished whatever it was reading.
    """

    def __init__(self, site: CaptureSite, captured: Callable[[], int]) -> None:
        self._site = site
        self._captured = captured
        self._garbage: list[tuple[int, tuple[str, ...]]] = []
        self._discarded: SimpleQueue[tuple[str, ...]] = SimpleQueue()

    def discard(self, files: Iterable[str]) -> None:
        """Have files removed that neither the manifest names nor capture reads; any thread may call this."""
        self._discarded.put(tuple(files))

    def remove_discarded(self) -> None:
        """Remove the files that other threads have discarded since."""
        while not self._discarded.empty():
            self._site.warehouse.remove(self._discarded.get())

    def merge(self, connection: Connection) -> MergeOutcome:
        """Merge a few batches of some buffer that has many."""
        self._remove()
        mergeable = next_mergeable(connection, rows=SMALL_ROWS, bytes=SMALL_BYTES, fewest=FEWEST_BATCHES)
        if mergeable is None:
            return MergeOutcome.NOTHING_TO_MERGE
        try:
            self._merge(connection, mergeable)
        except (DamagedBatch, InputOutputError, OSError) as error:
            log.error("buffer %s cannot be merged: %s", mergeable.buffer, error)
            if isinstance(error, DamagedBatch):
                copy_again(connection, self._site.epoch, mergeable.buffer, error.message)
            return MergeOutcome.FAILED
        return MergeOutcome.MERGED

    def _merge(self, connection: Connection, mergeable: Mergeable) -> None:
        buffer = mergeable.buffer
        files = merge_batches(connection, self._site, buffer, mergeable.below)
        log.info("buffer %s: %d files are replaced", buffer, len(files))
        if is_table_buffer(buffer):
            self._garbage.append((self._captured(), files))
        else:
            self._site.warehouse.remove(files)

    def _remove(self) -> None:
        captured = self._captured()
        for _position, files in (garbage for garbage in self._garbage if garbage[0] < captured):
            self._site.warehouse.remove(files)
        self._garbage = [garbage for garbage in self._garbage if garbage[0] >= captured]
