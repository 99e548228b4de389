"""What parts of a query took when they last ran, as EXPLAIN shows it beside what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Took:
    """The work of a run in seconds of a processor, and what the model said of what it had to do."""

    work: float
    predicted: float


@dataclass(frozen=True, slots=True)
class MeasuredWork:
    """The last run of each subplan, by the buffer that it writes; and the last one from scratch."""

    subplans: Mapping[int, Took] = field(default_factory=dict)
    from_scratch: Took | None = None
