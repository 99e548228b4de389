"""What a run is expected to take and to write, and what is learned of that from earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.cost.alike import Comparison, factor

_MOST_ROWS: Final = 1e4
"""Rows are corrected by no more than this factor: changes that meet nothing write none."""


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """The work of a run, in seconds of a processor, and the changed rows that it writes to the result."""

    work: float
    result_rows: float


@dataclass(frozen=True, slots=True)
class Learned:
    """The rows that subplans wrote in earlier runs beside those that were expected of what they had read.

    `changes` and `from_scratch`: the two kinds of runs, each by the buffers that the subplans write.
    """

    changes: Mapping[int, Sequence[Comparison]] = field(default_factory=dict)
    from_scratch: Mapping[int, Sequence[Comparison]] = field(default_factory=dict)

    def factor(self, writes: int, expected: float, *, from_scratch: bool) -> float:
        """How many times as many rows as expected a subplan is likely to write."""
        past = (self.from_scratch if from_scratch else self.changes).get(writes, ())
        return factor(past, max(expected, 1.0), _MOST_ROWS)


NOTHING_LEARNED: Final = Learned()
