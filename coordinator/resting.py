"""Queries that failed lately: how long each is left alone, and in which data it failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final
from uuid import UUID

from catalog.consequences import Consequence, consequence_of
from catalog.running import Failure
from coordinator.failing import Patience

_OF_VALUES: Final = ("21", "22", "54000")
"""Classes of errors that the values of rows cause, and nothing else."""


class Resting:
    """Queries left alone for a while; an error in data `seen_at` a position only newer changes can mend."""

    def __init__(self) -> None:
        self.seen_at: dict[UUID, int] = {}
        self._patience: defaultdict[UUID, Patience] = defaultdict(Patience)

    def set_aside(self, query: UUID, failure: Failure | None = None, position: int = 0) -> None:
        """It failed, in the data up to a position; what the machine lacks may be mended at any time."""
        of_the_machine = failure is not None and consequence_of(failure.sqlstate) is Consequence.REPAIR
        self._patience[query] = self._patience[query].longer(of_the_machine)
        if failure is not None:
            self.seen_at.pop(query, None)
            if failure.sqlstate.startswith(_OF_VALUES):
                self.seen_at[query] = position

    def forget(self, query: UUID) -> None:
        """Forget the query's failures: it did well."""
        self._patience.pop(query, None)
        self.seen_at.pop(query, None)

    def now(self, asked: Collection[UUID]) -> set[UUID]:
        """The queries left alone for the time being; not for long, where somebody has asked for them."""
        return {id for id, patience in self._patience.items() if not patience.is_over(id in asked)}
