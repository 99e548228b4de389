"""The work of the firings of a subplan: features counted from its nodes and their rows, times weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, assert_never

import numpy as np

from planner.algebra.columns import references
from planner.cost.node import FiringInputs, Leaf, NodeEstimate
from planner.cost.row_counts import Flags, Vector, presence
from planner.cost.weights import Weights
from planner.delta import weighted
from planner.firing.states import NO_LOOKUPS, Lookup


@dataclass(frozen=True, slots=True)
class Features:
    """How much work of each kind firings do.

    `jobs`: jobs started, one for each firing to which anything arrived. `operators`: joins and groupings with
    a change. `changes`, `contents`: rows read of either, `contents` of those that are scanned. `keyed`: rows
    of the contents that are read by key; `looked_up`, `found`: keys looked up in them, and rows found.
    `joined`, `gathered` (grouped, or met with their group), `written`: rows. `fresh`: rows of contents
    that are read as such for the first time, and may be kept in another form from then on.
    `held`: rows that are in memory at once, of groups, of the smaller sides of joins and of what is written;
    they take memory, and no work of their own.
    """

    jobs: Vector
    operators: Vector
    changes: Vector
    contents: Vector
    keyed: Vector
    looked_up: Vector
    found: Vector
    joined: Vector
    gathered: Vector
    written: Vector
    fresh: Vector
    held: Vector = field(default_factory=lambda: np.zeros(1))

    @property
    def matrix(self) -> Vector:
        """A row for each feature, a column for each firing."""
        return np.array([getattr(self, name) for name in FEATURES])

    @property
    def last(self) -> Features:
        """Those of the last firing."""
        return Features(*(getattr(self, feature.name)[-1:] for feature in fields(Features)))

    @property
    def later(self) -> Features:
        """Those of all firings but the first."""
        return Features(*(getattr(self, feature.name)[1:] for feature in fields(Features)))

    def replaced(self, firings: Flags, others: Features) -> Features:
        """The same, but in these firings those of others."""
        names = [feature.name for feature in fields(Features)]
        return Features(*(np.where(firings, getattr(others, name), getattr(self, name)) for name in names))


FEATURES: Final = tuple(feature.name for feature in fields(Features) if feature.name != "held")
"""Those that are work."""


def vector_of(weights: Weights) -> Vector:
    """The weights in the order of FEATURES."""
    return np.array([getattr(weights, name) for name in FEATURES])


def work(features: Features, weights: Weights) -> Vector:
    """The work of each firing in seconds of a processor: features times weights."""
    cost: Vector = vector_of(weights) @ features.matrix
    return cost


def rows_read(features: Features) -> Vector:
    """The rows that each firing reads, of changes and of contents."""
    return features.changes + features.contents + features.found


@dataclass(frozen=True, slots=True)
class Precondition:
    """When a part is computed: if one of these buffers has `changed`, and none of these contents is empty."""

    changed: frozenset[int]
    filled: frozenset[Leaf]


@dataclass(frozen=True, slots=True)
class LookUp:
    """A content of which only the rows with some keys are read: those that the rows of `keys` have.

    `found`: the join or semi-join for which it is read; no more rows are found than it gives. `by`: the
    columns that it is looked up by; several sets of them where it is not known which.
    """

    leaf: Leaf
    when: Precondition
    keys: NodeEstimate
    found: NodeEstimate
    by: frozenset[frozenset[int]] = frozenset()

    def is_scanned(self, scanned: frozenset[Lookup]) -> bool:
        """Whether its rows are scanned instead, because they are not kept by its key."""
        return any((self.leaf[0], columns) in scanned for columns in self.by)


@dataclass(frozen=True, slots=True)
class Beside:
    """The node on the other side of a join, and the join itself."""

    keys: NodeEstimate
    join: NodeEstimate


@dataclass(slots=True)
class SubplanWork:
    """The parts of a subplan's work: nodes whose rows are joined or gathered, and when each part is done.

    `keyed`: the leaves that are read by key, and by which; all others are scanned. `holding`: the nodes that
    keep rows in memory until they are done.
    """

    reads: frozenset[int]
    keyed: Mapping[Leaf, frozenset[frozenset[int]]] = field(default_factory=dict)
    changes: set[int] = field(default_factory=set)
    contents: Counter[tuple[Leaf, Precondition]] = field(default_factory=Counter)
    operators: Counter[Precondition] = field(default_factory=Counter)
    joined: list[NodeEstimate] = field(default_factory=list)
    gathered: list[NodeEstimate] = field(default_factory=list)
    holding: list[NodeEstimate] = field(default_factory=list)
    look_ups: list[LookUp] = field(default_factory=list)

    def features(
        self, firing: FiringInputs, outcome: NodeEstimate, scanned: frozenset[Lookup] = NO_LOOKUPS
    ) -> Features:
        """The features of these firings, which write `outcome`, where no rows are kept for `scanned`."""
        none = np.zeros(len(firing.own_rows))
        arrived = {buffer: firing.buffers[buffer].change.gross for buffer in self.reads}
        jobs = presence(sum(arrived.values(), none))
        likely: dict[Precondition, Vector] = {}
        parts = {*self.operators, *(when for _, when in self.contents), *(one.when for one in self.look_ups)}
        for when in parts:
            likely[when] = presence(sum((arrived[buffer] for buffer in when.changed), none))
            for buffer, moment in when.filled:
                likely[when] = likely[when] * presence(firing.buffers[buffer].at(moment).gross)
        look_ups = [one for one in self.look_ups if not one.is_scanned(scanned)]
        contents = [
            count * firing.buffers[buffer].at(moment).gross * likely[when]
            for ((buffer, moment), when), count in self.contents.items()
        ]
        contents += [
            _content(firing, one) * likely[one.when] for one in self.look_ups if one.is_scanned(scanned)
        ]
        keyed = (_content(firing, one) * likely[one.when] for one in look_ups)
        return Features(
            jobs=jobs,
            operators=sum((count * likely[when] for when, count in self.operators.items()), none),
            changes=sum((arrived[buffer] for buffer in self.changes), none),
            contents=sum(contents, none),
            keyed=sum(keyed, none),
            looked_up=sum((firing.rows(one.keys).gross * likely[one.when] for one in look_ups), none),
            found=sum((_found(firing, one) * likely[one.when] for one in look_ups), none),
            joined=sum((firing.rows(node).gross for node in self.joined), none),
            gathered=sum((firing.rows(node).gross for node in self.gathered), none),
            written=(written := firing.rows(outcome).gross * jobs),
            fresh=sum((firing.buffers[buffer].fresh for buffer in self._content_buffers), none) * jobs,
            held=sum((_held(firing, node) for node in self.holding), written),
        )

    @property
    def _content_buffers(self) -> set[int]:
        """The buffers of which contents are read, scanned or looked up."""
        scanned = {buffer for (buffer, _), _ in self.contents}
        return scanned | {buffer for one in self.look_ups for buffer, _ in [one.leaf]}

    def add(self, estimate: NodeEstimate, when: Precondition, beside: Beside | None = None) -> None:
        """Add the work of the node and of all below it, which is done `when` that of the node above is.

        `beside`: what the node is joined with, if it is on one side of a join.
        """
        match estimate.node:
            case weighted.Read(buffer=buffer, moment=weighted.Moment.CHANGE):
                self.changes.add(buffer)
            case weighted.Read(buffer=buffer, moment=moment):
                if beside is not None and (buffer, moment) in self.keyed:
                    by = _keys_of(beside.join, self.keyed[buffer, moment])
                    self.look_ups.append(LookUp((buffer, moment), when, beside.keys, beside.join, by))
                else:
                    self.contents[(buffer, moment), when] += 1
            case weighted.StepRef() | weighted.Rows():
                pass
            case weighted.DeltaFilter() | weighted.DeltaProject() | weighted.Negate() | weighted.Sum():
                self._add_inputs(estimate, when, beside)
            case weighted.Choose() | weighted.AsSet():  # the general outcome stands for both
                self._add_inputs(estimate, when, beside)
            case weighted.Pairs() | weighted.SemiJoin():
                self.joined.append(estimate)
                self._add_join(estimate, when)
            case weighted.KeySemiJoin():
                self.gathered.append(estimate)
                self._add_join(estimate, when)
            case weighted.Consolidate() | weighted.PartialAggregate() | weighted.Groups() | weighted.First():
                self.gathered += estimate.inputs
                self.holding.append(estimate)
                self._add_inputs(estimate, self._operator(estimate, when), beside)
            case _:
                assert_never(estimate.node)

    def _operator(self, estimate: NodeEstimate, when: Precondition) -> Precondition:
        """Add a join or a grouping: it is computed, and its inputs are read, if it has any change."""
        if estimate.changes:
            when = Precondition(estimate.changes, estimate.needs)
        self.operators[when] += 1
        return when

    def _add_join(self, estimate: NodeEstimate, when: Precondition) -> None:
        """Add a join and both of its sides, either of which may be looked up by the keys of the other."""
        when = self._operator(estimate, when)
        self.holding.append(estimate)
        left, right = estimate.inputs
        self.add(left, when, Beside(right, estimate))
        self.add(right, when, Beside(left, estimate))

    def _add_inputs(self, estimate: NodeEstimate, when: Precondition, beside: Beside | None) -> None:
        for input in estimate.inputs:
            self.add(input, when, beside)


def _keys_of(join: NodeEstimate, keys: frozenset[frozenset[int]]) -> frozenset[frozenset[int]]:
    """Those of the keys whose columns the join compares; all of them where it does none."""
    match join.node:
        case weighted.Pairs(condition=condition) | weighted.SemiJoin(condition=condition):
            compared = references(condition)
        case weighted.KeySemiJoin(keys=fields_):
            compared = frozenset(key.column for key in fields_)
        case _:
            compared = frozenset()
    return frozenset(key for key in keys if key <= compared) or keys


def _content(firing: FiringInputs, look_up: LookUp) -> Vector:
    """The rows of the content of which some are looked up."""
    buffer, moment = look_up.leaf
    return firing.buffers[buffer].at(moment).gross


def _found(firing: FiringInputs, look_up: LookUp) -> Vector:
    """The rows that a look-up finds: no more than there are, and no more than are joined."""
    return np.minimum(_content(firing, look_up), firing.rows(look_up.found).gross)


def _held(firing: FiringInputs, node: NodeEstimate) -> Vector:
    """The rows that a node keeps in memory: of a join its smaller side, of others one for each group."""
    match node.inputs:
        case (left, right):
            return np.minimum(firing.rows(left).gross, firing.rows(right).gross)
        case _:
            return firing.rows(node).gross
