"""What a run would take that computes what is due now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from planner.cost.node import BufferRows
from planner.cost.row_counts import Change, content, total
from planner.pace.expected import NOTHING_LEARNED, ExpectedRun, Learned
from planner.pace.measured import Seen, buffer_rows
from planner.pace.simulation import Simulation


@dataclass(frozen=True, slots=True)
class DueRows:
    """What a subplan finds in the buffers that it reads, and in its own; it reads on in those `along`."""

    found: Mapping[int, Seen]
    along: frozenset[int]


Due: TypeAlias = Mapping[int, DueRows]
"""The rows of the subplans that a run computes, by the buffers that they write."""


def due_run(simulation: Simulation, due: Due, learned: Learned = NOTHING_LEARNED) -> ExpectedRun:
    """The run: the work of each of its subplans on its engine.

    A subplan reads what was written before the run, and what those below it are expected to write in it.
    """
    cost, written = 0.0, dict[int, Change]()
    for subplan, (_, estimate) in zip(simulation.plan.subplans, simulation.estimates, strict=True):
        rows = due.get(subplan.writes)
        if rows is None:
            continue
        buffers = {
            buffer: _with(buffer_rows(state), written.get(buffer) if buffer in rows.along else None)
            for buffer, state in rows.found.items()
        }
        firing = estimate.firing(buffers, buffers[subplan.writes].before.rows)
        features = estimate.work.features(firing, estimate.outcome, simulation.scanned)
        factor = learned.factor(subplan.writes, float(features.written[0]), from_scratch=False)
        works, _ = simulation.costs.works(
            subplan.writes, replace(features, written=features.written * factor)
        )
        cost += float(works[0])
        likely = features.jobs * factor
        written[subplan.writes] = firing.rows(estimate.outcome).as_change().kept(likely, likely)
    result = written.get(simulation.plan.result)
    return ExpectedRun(cost, 0.0 if result is None else float(result.gross[0]))


def _with(rows: BufferRows, written: Change | None) -> BufferRows:
    """The rows of a buffer to which this is written besides."""
    if written is None:
        return rows
    change = total([rows.change.as_change(), written])
    after = np.maximum(rows.before.rows + change.net, 0.0)
    return BufferRows(rows.before, content(after), change, rows.fresh)
