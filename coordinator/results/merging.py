"""Keeps the batches of a database few: one merge at a time, whenever nothing else is to be done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from psycopg import Connection

from catalog.capture.captured import copy_anew
from catalog.errors import DamagedBatch, InputOutputError
from catalog.queries.mergeable_buffers import Mergeable, next_mergeable
from coordinator.decide.actions import MergeOutcome
from sources.warehouse.merging import FEWEST_BATCHES, SMALL_BYTES, SMALL_ROWS, merge_batches
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import is_table_buffer

log = logging.getLogger(__name__)


class Merging:
    """For the one thread that reads batches to compute answers, between two of them.

    Capture as well reads batches of tables, where a TRUNCATE takes them back: what was merged is deleted when
    it has come further, for it has ended then whatever it was at.
    """

    def __init__(self, site: CaptureSite, captured: Callable[[], int]) -> None:
        self._site = site
        self._captured = captured
        self._garbage: list[tuple[int, tuple[str, ...]]] = []
        self._discarded: SimpleQueue[tuple[str, ...]] = SimpleQueue()

    def discard(self, files: Iterable[str]) -> None:
        """Have files removed that no manifest names and capture does not read; any thread may ask."""
        self._discarded.put(tuple(files))

    def remove_discarded(self) -> None:
        """Remove the files that others have discarded since."""
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
                copy_anew(connection, self._site.epoch, mergeable.buffer, error.message)
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
