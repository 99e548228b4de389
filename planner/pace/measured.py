"""The features of a firing that was run, as the cost model counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.cost.node import BufferRows
from planner.cost.row_counts import Change, content
from planner.cost.weights import Weights
from planner.cost.work import FEATURES, Features
from planner.pace.scratch import scratch_features
from planner.pace.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows of a buffer in a firing: of its content BEFORE, and of its change by the sign of their weight.

    `fresh`: those of the content that are read as such for the first time.
    """

    before: float
    inserted: float = 0.0
    deleted: float = 0.0
    fresh: float = 0.0


def features_of(
    simulation: Simulation, writes: int, rows: Mapping[int, Seen], written: float, consolidates: bool = False
) -> tuple[Mapping[str, float], float]:
    """The features of a firing of the subplan that writes this buffer, from what its buffers held and what it
    wrote; and how many rows it was expected to write.

    `rows` has the buffers that it read, and its own. The rows in joins and groupings are estimated.
    """
    features = expected_features(simulation, writes, rows, consolidates)
    values = {name: float(getattr(features, name)[0]) for name in FEATURES}
    return values | {"written": written}, values["written"]


def expected_features(
    simulation: Simulation, writes: int, rows: Mapping[int, Seen], consolidates: bool = False
) -> Features:
    """The features that a firing will have, by what its buffers hold; how much it writes is estimated too.

    Where nothing was there before, everything is computed from scratch. `consolidates`: of what is read only
    the rows that are there are computed with.
    """
    if not any(of_buffer.before for of_buffer in rows.values()):
        arrived = {buffer: of_buffer.inserted + of_buffer.deleted for buffer, of_buffer in rows.items()}
        return scratch_features(simulation, writes, arrived, consolidates=consolidates)
    place = next(place for place, subplan in enumerate(simulation.plan.subplans) if subplan.writes == writes)
    _, estimate = simulation.estimates[place]
    buffers = {buffer: buffer_rows(of_buffer) for buffer, of_buffer in rows.items()}
    firing = estimate.firing(buffers, buffers[writes].before.rows)
    return estimate.work.features(firing, estimate.outcome, simulation.scanned)


def predicted(features: Mapping[str, float], weights: Weights) -> float:
    """The work of a firing with these features."""
    return float(sum(getattr(weights, name) * value for name, value in features.items()))


def buffer_rows(rows: Seen) -> BufferRows:
    """The rows, with as many changes as possible counted as replacements."""
    before = np.array([rows.before])
    replaced = np.array([min(rows.inserted, rows.deleted)])
    inserts, deletes = rows.inserted - replaced, rows.deleted - replaced
    change = Change(inserts, replaced, deletes, 0.0 * replaced, replaced)
    after = content(np.maximum(before + change.net, 0.0))
    return BufferRows(content(before), after, change, np.array([min(rows.fresh, rows.before)]))
