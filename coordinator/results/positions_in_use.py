"""The positions that results are being computed at, which no offset tells yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """What is in use: `captured` is a position that no computation that begins later is before.

    `decision`: the number of the last decision; `oldest`: that of the earliest one for which something is
    still read.
    """

    captured: int
    in_use: frozenset[int]
    decision: int
    oldest: int


class PositionsInUse:
    """Tells merging where computations stand. Any thread may ask."""

    def __init__(self, captured: Callable[[], int]) -> None:
        self._captured = captured
        self._lock = threading.Lock()
        self._begun: dict[int, int] = {}
        self._decision = 0

    def begin_decision(self, under_way: Iterable[int]) -> int:
        """The position at which something may be computed now, besides those that were begun before."""
        with self._lock:
            position = self._captured()
            self._decision += 1
            self._begun = {
                position: self._decision,
                **{other: self._begun.get(other, self._decision) for other in under_way},
            }
            return position

    def now(self) -> Moment:
        """What is in use, and what will not be."""
        with self._lock:
            oldest = min(self._begun.values(), default=self._decision)
            return Moment(self._captured(), frozenset(self._begun), self._decision, oldest)
