"""What a firing came to, and what it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from catalog.capture.batch import Batch
from coordinator.firing.work import Offsets


@dataclass(frozen=True, slots=True)
class Share:
    """What a subplan took: rows by buffer, those that came and those before; its work in `Fired`'s unit."""

    writes: int
    came: Mapping[int, int]
    before: Mapping[int, int]
    rows_in: int
    rows_out: int
    jobs: int
    work: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Fired:
    """What a firing came to: where all subplans are then, the batches sealed, and the figures.

    Its work is seconds of a processor where those are known, else of time.
    """

    offsets: Offsets
    batches: tuple[Batch, ...]
    shares: tuple[Share, ...]
    seconds: float
    processor_seconds: float | None

    @property
    def rows_in(self) -> int:
        """How many changed rows were read."""
        return sum(share.rows_in for share in self.shares)

    @property
    def rows_out(self) -> int:
        """How many changed rows were written."""
        return sum(share.rows_out for share in self.shares)

    @property
    def jobs(self) -> int:
        """How many jobs the firing took."""
        return sum(share.jobs for share in self.shares)

    @property
    def work(self) -> float:
        """The work of the firing, in seconds."""
        return self.seconds if self.processor_seconds is None else self.processor_seconds


@dataclass(frozen=True, slots=True)
class Clock:
    """Begins when it is made; the meter tells what processors have spent."""

    meter: Callable[[], float | None] = lambda: None
    time: float = field(default_factory=time.monotonic)
    processor: float | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "processor", self.meter())

    def seconds(self) -> float:
        """How many seconds have passed since the clock was made."""
        return time.monotonic() - self.time

    def processor_seconds(self) -> float | None:
        """How many seconds processors have spent since; None where that is not known."""
        now = self.meter()
        return None if now is None or self.processor is None else now - self.processor

    def work(self) -> float:
        """The work done since: seconds of a processor where those are known, else of time."""
        seconds = self.processor_seconds()
        return self.seconds() if seconds is None else seconds
