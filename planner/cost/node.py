"""The estimate of a node of a delta plan: facts that hold for all firings, and a formula for its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np

from planner.cost.constants import LEAST
from planner.cost.row_counts import Content, RowCounts, Share, Vector, content
from planner.cost.spread import Spreads
from planner.delta.weighted import Moment, Weighted

Leaf: TypeAlias = tuple[int, Moment]
"""A buffer and the moment at which it is read."""

Formula: TypeAlias = Callable[["FiringInputs", Sequence[RowCounts]], RowCounts]
"""The rows of a node in firings, from what the firings read and from the rows of its inputs."""


@dataclass(frozen=True, slots=True)
class BufferRows:
    """A buffer's content before each firing and after it, and the change between them.

    `fresh`: the rows of the content before that no firing has read as content yet.
    """

    before: Content
    after: Content
    change: RowCounts
    fresh: Share = 0.0

    @property
    def new_share(self) -> Vector:
        """The share of the content that the change has brought."""
        there = np.maximum(self.after.rows, 1.0)
        return np.minimum(np.maximum((self.after.rows - self.before.rows) / there, 0.0), 1.0)

    def at(self, moment: Moment) -> RowCounts:
        """The rows that a leaf reads at the moment."""
        if moment is Moment.CHANGE:
            return self.change
        return self.before if moment is Moment.BEFORE else self.after


def unchanging(rows: Vector) -> BufferRows:
    """A buffer whose content is read also in place of its change."""
    return BufferRows(content(rows), content(rows), content(rows))


@dataclass(frozen=True, slots=True)
class FiringInputs:
    """What consecutive firings read; `new_share` is the share of it that is new.

    `rows_in_the_end`: the rows of buffers once everything has arrived. `own_rows`: those of the content that
    the subplan has written so far. `is_everything`: there is a single firing, to which everything arrives.
    """

    buffers: Mapping[int, BufferRows]
    rows_in_the_end: Mapping[int, float]
    new_share: Vector
    own_rows: Vector
    is_everything: bool = False
    _arrived: dict[tuple[int, bool], Vector] = field(default_factory=dict)
    _rows: dict[NodeEstimate, RowCounts] = field(default_factory=dict)

    def rows(self, node: NodeEstimate) -> RowCounts:
        """The rows of a node, computed once."""
        rows = self._rows.get(node)
        if rows is None:
            rows = self._rows[node] = node.formula(self, [self.rows(input) for input in node.inputs])
        return rows

    def arrived(self, sources: Iterable[int], *, before: bool = False) -> Vector:
        """The share of values growing with these buffers that has arrived by a firing, or `before` it."""
        product: Vector | None = None
        for source in sources:
            if source not in self.buffers:
                continue
            if (source, before) not in self._arrived:
                there = self.buffers[source].before if before else self.buffers[source].after
                share = np.minimum(np.maximum(there.rows / self.rows_in_the_end[source], LEAST), 1.0)
                self._arrived[source, before] = share
            share = self._arrived[source, before]
            product = share if product is None else product * share
        return np.ones(len(self.own_rows)) if product is None else product


@dataclass(frozen=True, slots=True, eq=False)
class NodeEstimate:
    """A node over the estimates of its inputs.

    `in_the_end`: its rows once everything has arrived. `is_change`: its rows are changes, else content.
    `changes`: the buffers one of which has to change for the node to be computed. `needs`: the contents
    without which it has no rows. `origin`: the buffers that its rows are from. `arrived`: those of them read
    as changes. `restricted`: what its rows were cut down to partners of; they stand for more rows. `keys`:
    columns of which each value occurs once. `retracted`: it is a content with its sign changed. `before`: it
    is made only of contents BEFORE. `recent`: the share of its rows that has only just arrived.
    """

    node: Weighted
    inputs: tuple[NodeEstimate, ...]
    formula: Formula
    in_the_end: RowCounts
    columns: Spreads
    is_change: bool = False
    changes: frozenset[int] = frozenset()
    needs: frozenset[Leaf] = frozenset()
    origin: frozenset[object] = frozenset()
    arrived: frozenset[object] = frozenset()
    restricted: frozenset[object] = frozenset()
    keys: frozenset[int] | None = None
    retracted: bool = False
    before: bool = False
    recent: Callable[[FiringInputs], Share] | None = None

    @property
    def rows(self) -> float:
        """The number of rows once everything has arrived."""
        return float(self.in_the_end.gross[0])

    def above(self, node: Weighted, formula: Formula, *others: NodeEstimate) -> NodeEstimate:
        """A node over this one, and over others, with the same properties."""
        inputs = (self, *others)
        in_the_end = formula(EVERYTHING, [input.in_the_end for input in inputs])
        return replace(self, node=node, inputs=inputs, formula=formula, in_the_end=in_the_end)

    def compared_with(self, other: NodeEstimate) -> Callable[[RowCounts], Vector]:
        """How many rows a row of the other side is compared with; rows cut off would not meet it."""
        is_cut = other.origin <= self.restricted
        return lambda rows: rows.stands_for if is_cut and isinstance(rows, Content) else rows.gross


def unchanged(_: FiringInputs, inputs: Sequence[RowCounts]) -> RowCounts:
    """The formula of a node that has as many rows as its input."""
    return inputs[0]


EVERYTHING: Final = FiringInputs({}, {}, np.ones(1), np.ones(1), is_everything=True)
"""The firing to which everything arrives, for nodes that read no buffer themselves."""
