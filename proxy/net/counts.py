"""How many connections each worker process has, in memory they share: for balance, and for the limit on all.

Cell (i, j) counts the connections that worker i ever assigned to worker j, and the last column how many each
has closed. A cell has one writer, so no lock is needed; a reader may be late by one, never wrong for long.
"""

from __future__ import annotations

import mmap
import os

_CELL = 8


class Counts:
    """The shared table, as one worker sees it."""

    def __init__(self, descriptor: int, workers: int, me: int) -> None:
        self._workers = workers
        self.me = me
        self._row = workers + 1
        self._cells = memoryview(mmap.mmap(descriptor, workers * self._row * _CELL)).cast("q")

    def load(self, worker: int) -> int:
        """Open connections of one worker, those on their way to it included."""
        assigned = sum(self._cells[other * self._row + worker] for other in range(self._workers))
        return max(0, assigned - self._cells[worker * self._row + self._workers])

    def total(self) -> int:
        """Open connections of all workers."""
        return sum(self.load(worker) for worker in range(self._workers))

    def least_loaded(self) -> int:
        """The worker that should take the next connection; the asker itself where it is as good as any."""
        return min(range(self._workers), key=lambda worker: (self.load(worker), worker != self.me))

    def assign(self, worker: int, change: int = 1) -> None:
        """This worker gives a connection to `worker` (or, with -1, could not)."""
        self._cells[self.me * self._row + worker] += change

    def close(self) -> None:
        """Count one of this worker's connections as closed."""
        self._cells[self.me * self._row + self._workers] += 1

    def forget(self, worker: int) -> None:
        """A worker died: none of its connections is open."""
        assigned = sum(self._cells[other * self._row + worker] for other in range(self._workers))
        self._cells[worker * self._row + self._workers] = assigned


def make_table(workers: int) -> int:
    """Descriptor of a zeroed table for so many workers."""
    descriptor = os.memfd_create("gavial-connections")
    os.ftruncate(descriptor, workers * (workers + 1) * _CELL)
    return descriptor
