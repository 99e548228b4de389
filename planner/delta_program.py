"""A subplan as functions: what a firing gives and what it has to do, and the content it has led to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.delta.weighted import Moment, Subplan
from planner.delta_estimate import Estimator, Known
from planner.delta_part import Frame, Leaf, Ledger, Occasion, Part, presence
from planner.firing.specialise import Facts, specialise
from planner.flow import Flow, Vector, content, gross

Features: TypeAlias = NDArray[np.float64]
"""What firings have to do: a row for each of FEATURES, a column for each firing."""

FEATURES: Final = ("jobs", "operators", "changes", "contents", "joined", "gathered", "written")


@dataclass(frozen=True, slots=True)
class Program:
    """The estimate of what a firing does, or of computing everything that is there from scratch."""

    steps: tuple[tuple[int, Part], ...]
    ledger: Ledger
    reads: frozenset[Leaf]
    subplan: Subplan
    ends: Mapping[int, float]

    @property
    def outcome(self) -> Part:
        """The estimate of the last step, which is the outcome."""
        return self.steps[-1][1]

    def run(self, leaves: Mapping[Leaf, Flow], none: Vector) -> tuple[Flow, Features]:
        """The change that firings give and what they do for it; own: the rows of the content before."""
        came = {buffer: gross(leaves[buffer, Moment.CHANGE]) for buffer in self.subplan.reads}
        everything: Vector = np.sum(list(came.values()), axis=0) if came else none * 0.0
        held = sum((leaves[buffer, Moment.AFTER][0] for buffer in came), none * 0.0)
        frame = Frame(leaves, np.minimum(everything / np.maximum(held, 1.0), 1.0), none, self.ends)
        for number, part in self.steps:
            frame.steps[number] = part.run(frame)
        outcome = frame.steps[self.steps[-1][0]]
        return outcome, self._features(frame, came, everything, outcome)

    def _features(
        self, frame: Frame, came: Mapping[int, Vector], everything: Vector, outcome: Flow
    ) -> Features:
        active = {
            occasion: _likely(occasion, frame, came, everything * 0.0)
            for occasion in {*self.ledger.operators, *(occasion for _, occasion in self.ledger.scans)}
        }
        features = np.zeros((len(FEATURES), len(everything)))
        features[0] = presence(everything)
        for occasion, count in self.ledger.operators.items():
            features[1] += count * active[occasion]
        features[2] = sum(
            (came[buffer] for buffer, moment in self.reads if moment is Moment.CHANGE), features[2]
        )
        for (leaf, occasion), count in self.ledger.scans.items():
            features[3] += count * frame.leaves[leaf][0] * active[occasion]
        features[4] = sum(frame.joined, features[4])
        features[5] = sum(frame.gathered, features[5])
        features[6] = gross(outcome) * features[0]
        return features


def _likely(occasion: Occasion, frame: Frame, came: Mapping[int, Vector], none: Vector) -> Vector:
    """How likely it is that there is work."""
    changes, needs = occasion
    likely = presence(sum((came[buffer] for buffer in changes), none))
    for leaf in needs:
        likely = likely * presence(frame.leaves[leaf][0])
    return likely


def program(subplan: Subplan, known: Mapping[int, Known], own_known: Known | None) -> Program:
    """The subplan over buffers of which this is known; without its `own`: from scratch."""
    scratch = own_known is None
    everything = frozenset(subplan.reads)
    if scratch:
        facts = Facts(lambda _: True, unwritten=everything | {subplan.writes})
        subplan = specialise(subplan, facts)
    buffers = dict(known) if own_known is None else {**known, subplan.writes: own_known}
    leaves = {
        (number, moment): content(np.array([known_buffer.rows]))
        for number, known_buffer in buffers.items()
        for moment in Moment
    }
    ends = {number: known_buffer.rows for number, known_buffer in buffers.items()}
    estimator = Estimator(buffers, Frame(leaves, np.ones(1), np.ones(1), ends), scratch)
    steps = tuple((step.number, estimator.step(step, everything)) for step in subplan.steps)
    return Program(steps, estimator.ledger, frozenset(estimator.read), subplan, ends)
