"""The estimate of a subplan: the rows that its firings write, their work, and the resulting content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from planner.cost.estimate import BufferEstimate, Estimator
from planner.cost.node import BufferRows, FiringInputs, Leaf, NodeEstimate
from planner.cost.row_counts import Vector
from planner.cost.work import Precondition, SubplanWork
from planner.delta.weighted import Subplan
from planner.firing.specialise import Facts, specialise

Keyed: TypeAlias = Mapping[Leaf, frozenset[frozenset[int]]]

NOTHING_KEYED: Final[Keyed] = {}


@dataclass(frozen=True, slots=True)
class SubplanEstimate:
    """The estimate of firings, or of computing the whole content from scratch."""

    outcome: NodeEstimate
    work: SubplanWork
    rows_in_the_end: Mapping[int, float]

    def firing(self, buffers: Mapping[int, BufferRows], own_rows: Vector) -> FiringInputs:
        """The inputs of firings that find these rows."""
        read = [buffers[buffer] for buffer in self.work.reads]
        arrived = sum((rows.change.gross for rows in read), 0.0 * own_rows)
        held = sum((rows.after.rows for rows in read), 0.0 * own_rows)
        new_share = np.minimum(arrived / np.maximum(held, 1.0), 1.0)
        return FiringInputs(buffers, self.rows_in_the_end, new_share, own_rows)


def estimated(
    subplan: Subplan,
    buffers: Mapping[int, BufferEstimate],
    own_content: BufferEstimate | None,
    keyed: Keyed = NOTHING_KEYED,
) -> SubplanEstimate:
    """The estimate of a subplan over these buffers, of which it reads some contents by these keys.

    Without its `own_content`: from scratch.
    """
    reads = frozenset(subplan.reads)
    if own_content is None:
        subplan = specialise(subplan, Facts(lambda _: True, unwritten=reads | {subplan.writes}))
        known = buffers
    else:
        known = {**buffers, subplan.writes: own_content}
    estimator, steps_work = Estimator(known, own_content is None), SubplanWork(reads, keyed)
    for step in subplan.steps:
        outcome = estimator.step(step)
        steps_work.add(outcome, Precondition(outcome.changes or reads, outcome.needs))
    return SubplanEstimate(outcome, steps_work, {buffer: of.rows for buffer, of in known.items()})
