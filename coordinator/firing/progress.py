"""The progress of a run, for those who wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from psycopg import Connection

from catalog.queries.executions import note_progress

_QUIET_SECONDS: Final = 1.0
"""Nothing is told of a run that ends sooner."""

Wanted: TypeAlias = Callable[[], bool]
"""Tells whether the outcome of a run is still wanted."""


@dataclass(slots=True)
class Progress:
    """Which subplan of how many is run, and how many changed rows it reads.

    Written by the thread that computes, read by the one that waits.
    """

    parts: int
    part: int = 0
    rows: int = 0

    def begin(self, rows: int) -> None:
        """Note that the next subplan begins, and how many changed rows it reads."""
        self.part, self.rows = self.part + 1, rows

    def __str__(self) -> str:
        return f"computing the result: part {self.part} of {self.parts}, {self.rows:,} changed rows"


@dataclass(slots=True)
class Telling:
    """Writes the progress of a run into the catalog, once the run has lasted for a while."""

    connection: Connection
    firing: int
    progress: Progress
    starts: Callable[[], str | None]
    wanted: Wanted
    told: str = ""
    began: float = field(default_factory=time.monotonic)

    def is_wanted(self) -> bool:
        """Whether the outcome is still wanted; asking this now and then also writes the progress."""
        if self.progress.part:
            self.tell(str(self.progress))
        else:
            engine = self.starts()
            self.tell(f"starting {engine}" if engine else "computing the result")
        return self.wanted()

    def end(self) -> None:
        """Remove the progress: nothing is being done any more."""
        if self.told and not self.connection.closed:
            note_progress(self.connection, self.firing, None)

    def tell(self, words: str) -> None:
        """Write the progress, unless it is the same or the run has just begun."""
        if words != self.told and time.monotonic() - self.began > _QUIET_SECONDS:
            note_progress(self.connection, self.firing, words)
            self.told = words
