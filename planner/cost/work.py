"""The work of the firings of a subplan: features counted from its nodes and their rows, times weights."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Final, assert_never

import numpy as np

from planner.cost.node import FiringInputs, Leaf, NodeEstimate
from planner.cost.row_counts import Vector, presence
from planner.cost.weights import Weights
from planner.delta import weighted


@dataclass(frozen=True, slots=True)
class Features:
    """How much work of each kind firings do.

    `jobs`: jobs started, one for each firing to which anything arrived. `operators`: joins and groupings with
    a change. `changes`, `contents`: rows read of either. `joined`, `gathered` (grouped, or looked up by their
    group), `written`: rows.
    """

    jobs: Vector
    operators: Vector
    changes: Vector
    contents: Vector
    joined: Vector
    gathered: Vector
    written: Vector


FEATURES: Final = tuple(feature.name for feature in fields(Features))


def work(features: Features, weights: Weights) -> Vector:
    """The work of each firing in seconds of a processor: features times weights."""
    cost: Vector = sum(getattr(features, name) * getattr(weights, name) for name in FEATURES)
    return cost


@dataclass(frozen=True, slots=True)
class Precondition:
    """When a part is computed: if one of these buffers has `changed`, and none of these contents is empty."""

    changed: frozenset[int]
    filled: frozenset[Leaf]


@dataclass(slots=True)
class SubplanWork:
    """The parts of a subplan's work: nodes whose rows are joined or gathered, and when each part is done."""

    reads: frozenset[int]
    changes: set[int] = field(default_factory=set)
    contents: Counter[tuple[Leaf, Precondition]] = field(default_factory=Counter)
    operators: Counter[Precondition] = field(default_factory=Counter)
    joined: list[NodeEstimate] = field(default_factory=list)
    gathered: list[NodeEstimate] = field(default_factory=list)

    def features(self, firing: FiringInputs, outcome: NodeEstimate) -> Features:
        """The features of these firings, which write `outcome`."""
        none = np.zeros(len(firing.own_rows))
        arrived = {buffer: firing.buffers[buffer].change.gross for buffer in self.reads}
        jobs = presence(sum(arrived.values(), none))
        likely: dict[Precondition, Vector] = {}
        for when in {*self.operators, *(when for _, when in self.contents)}:
            likely[when] = presence(sum((arrived[buffer] for buffer in when.changed), none))
            for buffer, moment in when.filled:
                likely[when] = likely[when] * presence(firing.buffers[buffer].at(moment).gross)
        contents = (
            count * firing.buffers[buffer].at(moment).gross * likely[when]
            for ((buffer, moment), when), count in self.contents.items()
        )
        return Features(
            jobs=jobs,
            operators=sum((count * likely[when] for when, count in self.operators.items()), none),
            changes=sum((arrived[buffer] for buffer in self.changes), none),
            contents=sum(contents, none),
            joined=sum((firing.rows(node).gross for node in self.joined), none),
            gathered=sum((firing.rows(node).gross for node in self.gathered), none),
            written=firing.rows(outcome).gross * jobs,
        )

    def add(self, estimate: NodeEstimate, when: Precondition) -> None:
        """Add the work of the node and of all below it, which is done `when` that of the node above is."""
        match estimate.node:
            case weighted.Read(buffer=buffer, moment=weighted.Moment.CHANGE):
                self.changes.add(buffer)
            case weighted.Read(buffer=buffer, moment=moment):
                self.contents[(buffer, moment), when] += 1
            case weighted.StepRef() | weighted.Rows():
                pass
            case weighted.DeltaFilter() | weighted.DeltaProject() | weighted.Negate() | weighted.Sum():
                self._add_inputs(estimate, when)
            case weighted.Choose() | weighted.AsSet():  # the general outcome stands for both
                self._add_inputs(estimate, when)
            case weighted.Pairs() | weighted.SemiJoin():
                self.joined.append(estimate)
                self._add_operator(estimate, when)
            case weighted.KeySemiJoin():
                self.gathered.append(estimate)
                self._add_operator(estimate, when)
            case weighted.Consolidate() | weighted.PartialAggregate() | weighted.Groups() | weighted.First():
                self.gathered += estimate.inputs
                self._add_operator(estimate, when)
            case _:
                assert_never(estimate.node)

    def _add_operator(self, estimate: NodeEstimate, when: Precondition) -> None:
        """Add a join or a grouping: it is computed, and its inputs are read, if it has any change."""
        if estimate.changes:
            when = Precondition(estimate.changes, estimate.needs)
        self.operators[when] += 1
        self._add_inputs(estimate, when)

    def _add_inputs(self, estimate: NodeEstimate, when: Precondition) -> None:
        for input in estimate.inputs:
            self.add(input, when)
