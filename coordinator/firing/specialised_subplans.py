"""Specialises subplans for a firing: without inputs known to be empty, and with choices made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.firing.batches import BatchIndex
from executors.executor import Range
from planner.delta.check import check_subplan
from planner.delta.weighted import Guard, Moment, Subplan
from planner.firing.passed import Passed, passed
from planner.firing.pruning import Limits, limits
from planner.firing.specialise import Facts, is_empty, specialise
from sources.warehouse.warehouse import WEIGHT


@dataclass(frozen=True, slots=True)
class SpecialisedSubplan:
    """A subplan for a firing, and the rows of each buffer that it needs; None if its outcome is empty.

    `passed`: the change that it only passes on, if so.
    """

    subplan: Subplan | None
    limits: Mapping[tuple[int, Moment], tuple[Limits, ...]]
    passed: Passed | None


def specialised(subplan: Subplan, ranges: Mapping[int, Range], batch_index: BatchIndex) -> SpecialisedSubplan:
    """The subplan specialised for a firing over these ranges."""
    special = specialise(subplan, facts(ranges, batch_index))
    check_subplan(special)
    if is_empty(special.steps[-1].outcome):
        return SpecialisedSubplan(None, {}, passed(special))
    return SpecialisedSubplan(special, limits(special), passed(special))


def facts(ranges: Mapping[int, Range], batch_index: BatchIndex) -> Facts:
    """The facts about a firing that the manifest gives."""
    unchanged = (buffer for buffer, range in ranges.items() if not batch_index.batches(buffer, range))
    unwritten = (
        buffer for buffer, (start, _) in ranges.items() if not batch_index.batches(buffer, (0, start))
    )

    def holds(guard: Guard) -> bool:
        """Whether the guard holds; never if it needs a parent for each child: triggers may have been off."""
        return not guard.level and all(
            (bounds := batch.bounds.get(WEIGHT)) is not None and float(bounds.least) > 0
            for buffer in guard.appended
            for batch in batch_index.batches(buffer, ranges[buffer])
        )

    return Facts(holds, frozenset(unchanged), frozenset(unwritten))
