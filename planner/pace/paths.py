"""Paths of a delta plan: the parts that are run each at a pace of its own."""

from __future__ import annotations

from dataclasses import dataclass

from planner.delta.weighted import DeltaPlan


@dataclass(frozen=True, slots=True, order=True)
class Path:
    """What the subplan that writes one buffer takes from one of the buffers that it reads.

    At a pace of k the path is run k times in a period: whenever another k-th of the rows expected below it
    has arrived, the last time when the trigger fires. Between two runs arriving rows wait in the buffer.
    """

    writes: int
    reads: int


def paths(plan: DeltaPlan) -> tuple[Path, ...]:
    """All paths of a plan, from the tables to the result."""
    return tuple(Path(subplan.writes, buffer) for subplan in plan.subplans for buffer in subplan.reads)
