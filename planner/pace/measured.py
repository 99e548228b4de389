"""The features of a firing that was run, as the cost model counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.cost.node import BufferRows
from planner.cost.row_counts import Change, content
from planner.cost.weights import Weights
from planner.cost.work import FEATURES
from planner.pace.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows of a buffer in a firing: of its content BEFORE, and of its change by the sign of their weight."""

    before: float
    inserted: float = 0.0
    deleted: float = 0.0


def features_of(
    simulation: Simulation, writes: int, seen: Mapping[int, Seen], written: float
) -> Mapping[str, float]:
    """The features of a firing of the subplan that writes this buffer, from what its buffers held and what it
    wrote.

    `seen` has the buffers that it read, and its own. The rows in joins and groupings are estimated.
    """
    place = next(place for place, subplan in enumerate(simulation.plan.subplans) if subplan.writes == writes)
    _, estimate = simulation.estimates[place]
    buffers = {buffer: _buffer_rows(rows) for buffer, rows in seen.items()}
    firing = estimate.firing(buffers, buffers[writes].before.rows)
    features = estimate.work.features(firing, estimate.outcome)
    return {name: float(getattr(features, name)[0]) for name in FEATURES} | {"written": written}


def predicted(features: Mapping[str, float], weights: Weights) -> float:
    """The work of a firing with these features."""
    return float(sum(getattr(weights, name) * value for name, value in features.items()))


def _buffer_rows(seen: Seen) -> BufferRows:
    """The rows, with as many changes as possible counted as replacements."""
    before = np.array([seen.before])
    replaced = np.array([min(seen.inserted, seen.deleted)])
    inserts, deletes = seen.inserted - replaced, seen.deleted - replaced
    change = Change(inserts, replaced, deletes, 0.0 * replaced, replaced)
    return BufferRows(content(before), content(np.maximum(before + change.net, 0.0)), change)
