"""What computing everything from scratch has to do, part by part, and takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from planner.cost.engines import Choice
from planner.cost.node import unchanging
from planner.cost.work import Features
from planner.pace.expected import NOTHING_LEARNED, ExpectedRun, Learned
from planner.pace.simulation import Simulation


def scratch_features(
    simulation: Simulation, writes: int, rows: Mapping[int, float], *, consolidates: bool
) -> Features:
    """What computing a subplan from scratch over these changed rows of its buffers has to do.

    Where the rows are put together first, so that none is seen that was taken back, all of them are grouped,
    and only those go on that are there.
    """
    place = next(place for place, subplan in enumerate(simulation.plan.subplans) if subplan.writes == writes)
    scratch, _ = simulation.estimates[place]
    there = {buffer: _there(simulation, buffer, count) for buffer, count in rows.items()}
    left = there if consolidates else rows
    buffers = {buffer: unchanging(np.array([float(count)])) for buffer, count in left.items()}
    features = scratch.work.features(scratch.firing(buffers, np.ones(1)), scratch.outcome)
    if not consolidates:
        return features
    read = sum(rows[buffer] for buffer in scratch.work.reads)
    gone = read - sum(there[buffer] for buffer in scratch.work.reads)
    return replace(
        features,
        changes=features.changes + gone,
        gathered=features.gathered + read,
        held=features.held + read,
    )


def _there(simulation: Simulation, buffer: int, rows: float) -> float:
    """How many rows these changed ones come to: no more than the table has, where that is known."""
    held = simulation.rows_in_the_end.get(buffer, 0.0)
    return rows if held <= 1.0 else min(rows, held)


def scratch_run(
    simulation: Simulation,
    tables: Mapping[int, float] | None = None,
    learned: Learned = NOTHING_LEARNED,
    *,
    consolidates: bool = False,
) -> ExpectedRun:
    """The run that computes everything over these changed rows of tables, by buffer; without them over those
    that there are at the end of the period."""
    parts = _parts(simulation, tables, learned, consolidates=consolidates)
    work, result_rows = 0.0, 0.0
    for writes, features in parts:
        works, _ = simulation.costs.works(writes, features)
        work, result_rows = work + float(works[0]), float(features.written[0])
    return ExpectedRun(work, result_rows)


def scratch_choices(simulation: Simulation) -> tuple[Choice, ...]:
    """The engine and the work of each part, over the rows that there are at the end of the period."""
    parts = _parts(simulation, None, NOTHING_LEARNED, consolidates=False)
    return tuple(simulation.costs.choice(writes, features) for writes, features in parts)


def _parts(
    simulation: Simulation, tables: Mapping[int, float] | None, learned: Learned, *, consolidates: bool
) -> Iterator[tuple[int, Features]]:
    """What each part has to do, by the buffer that it writes."""
    held = dict(tables) if tables is not None else simulation.rows_in_the_end
    for subplan in simulation.plan.subplans:
        rows = {buffer: held[buffer] for buffer in subplan.reads}
        features = scratch_features(simulation, subplan.writes, rows, consolidates=consolidates)
        expected = float(features.written[0])
        written = expected * learned.factor(subplan.writes, expected, from_scratch=True)
        held[subplan.writes] = written
        yield subplan.writes, replace(features, written=np.array([written]))
