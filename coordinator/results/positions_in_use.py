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


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """A position at which something is computed that takes longer than until the next decision."""

    position: int
    decision: int


class PositionsInUse:
    """Tells merging where computations stand. Any thread may ask."""

    def __init__(self, captured: Callable[[], int]) -> None:
        self._captured = captured
        self._lock = threading.Lock()
        self._begun: dict[int, int] = {}
        self._held: set[Hold] = set()
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

    def hold(self, position: int) -> Hold:
        """Keep what is read now at a position, until it is released."""
        with self._lock:
            held = Hold(position, self._decision)
            self._held.add(held)
            return held

    def release(self, held: Hold) -> None:
        """Nothing is read there any more."""
        with self._lock:
            self._held.discard(held)

    def oldest_held(self) -> int | None:
        """The number of the earliest decision of which something is held; None where nothing is."""
        with self._lock:
            return min((held.decision for held in self._held), default=None)

    def now(self) -> Moment:
        """What is in use, and what will not be."""
        with self._lock:
            decisions = [*self._begun.values(), *(held.decision for held in self._held)]
            positions = frozenset(self._begun).union(held.position for held in self._held)
            oldest = min(decisions, default=self._decision)
            return Moment(self._captured(), positions, self._decision, oldest)
