"""The memory budget of the process, divided among all queries of all databases."""

from __future__ import annotations

import threading
from collections.abc import Collection
from uuid import UUID

from planner.state.divide import Wish, divided


class MemoryShares:
    """What each query wants, and what it gets of the whole; used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wishes: dict[UUID, Wish] = {}

    def granted(self, query: UUID, wish: Wish, whole: float) -> float:
        """The bytes that a query gets of the whole, now that it wants this: never more than its own most."""
        with self._lock:
            self._wishes[query] = wish
            wishes = dict(self._wishes)
        if sum(min(one.most, one.frontier.points[-1].bytes) for one in wishes.values()) <= whole:
            return min(wish.most, whole)
        return float(divided(whole, wishes)[query])

    def forget(self, queries: Collection[UUID]) -> None:
        """These queries want nothing any more."""
        with self._lock:
            for query in queries:
                self._wishes.pop(query, None)
