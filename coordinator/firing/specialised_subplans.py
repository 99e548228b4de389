"""Subplans made for a firing: without what is known to be empty in it, and with their choices made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from coordinator.firing.batches import BatchIndex
from coordinator.firing.work import Work
from executors.executor import Range
from planner.delta.check import check_subplan
from planner.delta.weighted import Guard, Moment, Subplan
from planner.firing.passed import Passed, passed
from planner.firing.pruning import Limits, limits
from planner.firing.specialise import Facts, is_empty, specialise
from sources.warehouse.warehouse import WEIGHT

SMALL_CHANGE: Final = 500_000
"""A change of so many rows or fewer may be sent to every task."""


@dataclass(frozen=True, slots=True)
class SpecialisedSubplan:
    """A subplan for a firing, and what of each buffer it needs; None where nothing comes out.

    `passed` is what it does if that is next to nothing. `small`: every task may have all that changed.
    """

    subplan: Subplan | None
    small: bool
    limits: Mapping[tuple[int, Moment], tuple[Limits, ...]]
    passed: Passed | None


@dataclass(slots=True)
class SpecialisedSubplans:
    """Specialises the subplans of a query, each for the same facts only once."""

    work: Work
    made: dict[Subplan, SpecialisedSubplan] = field(default_factory=dict)

    def of(
        self, subplan: Subplan, ranges: Mapping[int, Range], batch_index: BatchIndex
    ) -> SpecialisedSubplan:
        """The subplan as it is run in a firing over these ranges."""
        special = specialise(subplan, facts(ranges, batch_index))
        if special not in self.made:
            check_subplan(special)
            empty = is_empty(special.steps[-1].outcome)
            small = sum(batch_index.count(buffer, ranges[buffer]) for buffer in subplan.reads) <= SMALL_CHANGE
            wanted = None if empty else special
            self.made[special] = SpecialisedSubplan(
                wanted, small, {} if empty else limits(special), passed(special)
            )
        return self.made[special]


def facts(ranges: Mapping[int, Range], batch_index: BatchIndex) -> Facts:
    """What the manifest tells of a firing."""
    unchanged = (buffer for buffer, range in ranges.items() if not batch_index.batches(buffer, range))
    unwritten = (
        buffer for buffer, (start, _) in ranges.items() if not batch_index.batches(buffer, (0, start))
    )

    def holds(guard: Guard) -> bool:
        """That each child has its parent is not known: a session whose triggers were off may differ."""
        return not guard.level and all(
            (bounds := batch.bounds.get(WEIGHT)) is not None and float(bounds.least) > 0
            for buffer in guard.appended
            for batch in batch_index.batches(buffer, ranges[buffer])
        )

    return Facts(holds, frozenset(unchanged), frozenset(unwritten))
