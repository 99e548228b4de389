"""How far a firing has come, for those who wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from psycopg import Connection

from catalog.queries.executions import note_progress

_QUIET_SECONDS: Final = 1.0
"""Nothing is told of a firing that is over sooner."""


@dataclass(slots=True)
class Progress:
    """Of how many parts which one is worked, and how many changed rows it reads.

    Written by the thread that works, read by the one that waits.
    """

    parts: int
    part: int = 0
    rows: int = 0

    def begin(self, rows: int) -> None:
        """Note that the next part begins, and how many changed rows it reads."""
        self.part, self.rows = self.part + 1, rows

    def __str__(self) -> str:
        return f"computing the result: part {self.part} of {self.parts}, {self.rows:,} changed rows"


@dataclass(slots=True)
class Telling:
    """Writes into the catalog how far a firing has come, once it has lasted."""

    connection: Connection
    firing: int
    progress: Progress
    starts: Callable[[], str | None]
    wanted: Callable[[], bool]
    told: str = ""
    began: float = field(default_factory=time.monotonic)

    def is_wanted(self) -> bool:
        """Whether somebody still wants the outcome; who asks now and then keeps others informed."""
        if self.progress.part:
            self.tell(str(self.progress))
        else:
            engine = self.starts()
            self.tell(f"starting {engine}" if engine else "computing the result")
        return self.wanted()

    def end(self) -> None:
        """Take back what was told: nothing is being done any more."""
        if self.told and not self.connection.closed:
            note_progress(self.connection, self.firing, None)

    def tell(self, words: str) -> None:
        """Tell what is being done now, unless that is known or the firing has just begun."""
        if words != self.told and time.monotonic() - self.began > _QUIET_SECONDS:
            note_progress(self.connection, self.firing, words)
            self.told = words
