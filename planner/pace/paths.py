"""Paths of a delta plan: the parts of it that are worked each at a pace of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from planner.delta.weighted import DeltaPlan


@dataclass(frozen=True, slots=True, order=True)
class Path:
    """What the subplan that writes one buffer takes from one of the buffers that it reads.

    A pace of k: the path is worked k times in a period, each time that another k-th of what is expected below
    it has come, the last time when the trigger fires. Between two times what comes waits in the buffer.
    """

    writes: int
    reads: int


Paces: TypeAlias = Mapping[Path, int]


def paths(plan: DeltaPlan) -> tuple[Path, ...]:
    """All paths of a plan, from the tables to the answer."""
    return tuple(Path(subplan.writes, buffer) for subplan in plan.subplans for buffer in subplan.reads)
