"""The outcome of a run, and the work it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from catalog.capture.batch import Batch
from coordinator.firing.work import Offsets


@dataclass(frozen=True, slots=True)
class SubplanOutcome:
    """What a subplan did: rows by buffer, changed and before; its work in the unit of `RunOutcome`.

    `engine` is what computed it, with the `reason`; none where nothing had to be computed. `repeated`:
    another one had begun and given up.
    """

    writes: int
    arrived: Mapping[int, int]
    before: Mapping[int, int]
    rows_in: int
    rows_out: int
    jobs: int
    work: float
    seconds: float
    engine: str = ""
    reason: str = ""
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run: the offsets of all subplans after it, the batches sealed, and the figures.

    Work is in seconds of a processor if those are known, else of time. `consolidated`: what had been taken
    back was left out of all that was read.
    """

    offsets: Offsets
    batches: tuple[Batch, ...]
    subplans: tuple[SubplanOutcome, ...]
    seconds: float
    processor_seconds: float | None
    consolidated: bool = False

    @property
    def rows_in(self) -> int:
        """How many changed rows were read."""
        return sum(outcome.rows_in for outcome in self.subplans)

    def rows_before(self, buffer: int) -> int:
        """How many rows a buffer had before the run that it wrote to."""
        return next((share.before[buffer] for share in self.subplans if share.writes == buffer), 0)

    @property
    def rows_out(self) -> int:
        """How many changed rows were written."""
        return sum(outcome.rows_out for outcome in self.subplans)

    @property
    def jobs(self) -> int:
        """How many jobs the run took."""
        return sum(outcome.jobs for outcome in self.subplans)

    @property
    def engines(self) -> str:
        """The names of the engines that computed it; none where nothing had to be computed."""
        return " and ".join(sorted({outcome.engine for outcome in self.subplans if outcome.engine}))

    @property
    def work(self) -> float:
        """The work of the run, in seconds."""
        return self.seconds if self.processor_seconds is None else self.processor_seconds


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Measures from its creation; the meter gives the seconds that processors have spent."""

    meter: Callable[[], float | None] = lambda: None
    time: float = field(default_factory=time.monotonic)
    processor: float | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "processor", self.meter())

    def seconds(self) -> float:
        """How many seconds have passed since the stopwatch was made."""
        return time.monotonic() - self.time

    def processor_seconds(self) -> float | None:
        """The seconds that processors have spent since; None if unknown."""
        now = self.meter()
        return None if now is None or self.processor is None else now - self.processor

    def work(self) -> float:
        """The work done since: seconds of a processor if those are known, else of time."""
        seconds = self.processor_seconds()
        return self.seconds() if seconds is None else seconds
