"""What a firing that was carried out had to do, as the cost model sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.cost import Weights
from planner.delta.weighted import Moment
from planner.delta_part import Leaf
from planner.delta_program import FEATURES
from planner.flow import BASIS, DELETES, INSERTS, ROWS, UPDATES, Flow, content
from planner.simulation import Simulation

_WRITTEN: Final = FEATURES.index("written")


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows of a buffer in a firing: in its content before, and since by the sign of their weight."""

    before: float
    inserted: float = 0.0
    deleted: float = 0.0


def features_of(
    simulation: Simulation, writes: int, seen: Mapping[int, Seen], written: float
) -> Mapping[str, float]:
    """Of a firing of the subplan that writes this buffer, from what its buffers held and what it wrote.

    `seen` names what it read, and its own buffer. What joins and groupings dealt with is estimated.
    """
    place = next(place for place, subplan in enumerate(simulation.plan.subplans) if subplan.writes == writes)
    leaves: dict[Leaf, Flow] = {}
    for buffer, rows in seen.items():
        leaves[buffer, Moment.BEFORE] = content(np.array([rows.before]))
        leaves[buffer, Moment.AFTER] = content(
            np.array([max(rows.before + rows.inserted - rows.deleted, 0.0)])
        )
        leaves[buffer, Moment.CHANGE] = _change(rows)
    _, program = simulation.programs[place]
    _, features = program.run(leaves, np.array([seen[writes].before]))
    features[_WRITTEN] = written
    return dict(zip(FEATURES, features[:, 0].tolist(), strict=True))


def predicted(features: Mapping[str, float], weights: Weights) -> float:
    """The work of a firing with these features."""
    return float(sum(getattr(weights, name) * value for name, value in features.items()))


def _change(rows: Seen) -> Flow:
    """The flow of these rows, of which as many as possible count as replaced."""
    replaced = min(rows.inserted, rows.deleted)
    flow = np.zeros((ROWS, 1))
    flow[INSERTS], flow[UPDATES] = rows.inserted - replaced, replaced
    flow[DELETES], flow[BASIS] = rows.deleted - replaced, replaced
    return flow
