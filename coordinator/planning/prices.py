"""Whether a run computes changes or everything from scratch: by what either is expected to take; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Final

from catalog.queries.measurements import MeasuredPart
from planner.cost.engines import Costs
from planner.pace.measured import predicted

WORTH: Final = 1.25
"""Computing from scratch has to be cheaper by this factor: it writes all states and the result again."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a run is expected to take, in seconds of a processor: by changes, and from scratch."""

    changes: float
    recompute: float

    @property
    def is_recomputed(self) -> bool:
        """Whether everything is computed from scratch."""
        return self.recompute * WORTH < self.changes


@dataclass(frozen=True, slots=True)
class TakenToPredicted:
    """How many times as much as predicted the latest runs of a query took, of each kind."""

    changes: float = 1.0
    recompute: float = 1.0


def taken_to_predicted(parts: Sequence[MeasuredPart], costs: Costs) -> TakenToPredicted:
    """What runs took in all, beside what is predicted today of what their parts had to do."""
    return TakenToPredicted(
        _ratio([part for part in parts if not part.from_scratch], costs),
        _ratio([part for part in parts if part.from_scratch], costs),
    )


def _ratio(parts: Sequence[MeasuredPart], costs: Costs) -> float:
    """The ratio in the middle, of two the smaller one; a few are believed only in part.

    Of n runs the ratio to the power of n / (n + 1): one that took four times as much is believed as twice.
    """
    expected: defaultdict[int, float] = defaultdict(float)
    works: dict[int, float] = {}
    for part in parts:
        weights = costs.weights_of(part.subplan, part.engine)
        expected[part.run] += predicted(part.features, weights)
        works[part.run] = part.run_work
    ratios = [works[run] / work for run, work in expected.items() if work > 0.0 and works[run] > 0.0]
    return float(median_low(ratios) ** (len(ratios) / (len(ratios) + 1.0))) if ratios else 1.0


def chooses_itself(options: Mapping[str, object]) -> bool:
    """Whether Gavial chooses how results of a query with these options are computed."""
    return options.get("METHOD", "auto") == "auto"
