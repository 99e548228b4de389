"""Which rows of contents subplans have not read as such yet: those that came with the last firing; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from coordinator.firing.outcome import SubplanOutcome

FreshRows: TypeAlias = Mapping[int, Mapping[int, int]]
"""Rows by buffer, by the buffers that subplans write. A subplan that is missing has read nothing: it has not
been run since this process has begun."""

NOTHING_READ: Final[FreshRows] = MappingProxyType[int, Mapping[int, int]]({})


def fresh_after(fresh: FreshRows, outcomes: Iterable[SubplanOutcome]) -> FreshRows:
    """What is fresh after a run: what it brought; where nothing was computed, also what was before."""
    after = dict(fresh)
    for outcome in outcomes:
        fresh_now = {**outcome.arrived, outcome.writes: outcome.rows_out}
        before = fresh.get(outcome.writes)
        if outcome.jobs:
            after[outcome.writes] = fresh_now
        elif before is not None:
            after[outcome.writes] = {
                buffer: rows + before.get(buffer, 0) for buffer, rows in fresh_now.items()
            }
    return after
