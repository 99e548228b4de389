"""Estimates how many rows each node of a delta plan gives in a firing: inserted, replaced and deleted ones.

A subplan is turned once into functions over vectors that have an entry for each firing; all that does not
depend on firings is computed then. The rows of a firing are taken as drawn evenly from all that ever arrive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from planner.algebra.statistics import ColumnStatistics
from planner.cost import groups, joins, sums
from planner.cost.node import NodeEstimate, unchanged
from planner.cost.row_counts import content
from planner.cost.spread import (
    NO_COLUMNS,
    NOWHERE,
    Moves,
    Spread,
    Spreads,
    computed,
    filtered,
    looked_up,
    share_of,
)
from planner.delta import weighted


@dataclass(frozen=True, slots=True)
class BufferEstimate:
    """A buffer that is read: its columns, its rows once everything has come, and whether any ever go."""

    columns: Spreads
    rows: float
    only_grows: bool


@dataclass(slots=True)
class Estimator:
    """Turns steps of a subplan into estimates. `from_scratch`: a change is the whole content."""

    buffers: Mapping[int, BufferEstimate]
    from_scratch: bool
    steps: dict[int, NodeEstimate] = field(default_factory=dict)

    def step(self, step: weighted.Step) -> NodeEstimate:
        """The outcome of a step, which later ones may use."""
        self.steps[step.number] = self.node(step.outcome)
        return self.steps[step.number]

    def node(self, node: weighted.Weighted) -> NodeEstimate:  # noqa: C901 (a case for each kind)
        """The node's rows as a function of firings."""
        match node:
            case weighted.Read():
                return self._read(node)
            case weighted.StepRef(step=step):
                return replace(self.steps[step].above(node, unchanged), origin=frozenset({step}))
            case weighted.Rows():
                return _rows(node)
            case weighted.Choose(guard=guard, shortcut=shortcut, general=general):
                return self.node(shortcut if self._holds(guard) else general)
            case (
                weighted.AsSet(input=child) | weighted.DeltaFilter(input=weighted.PartialAggregate() as child)
            ):
                return self.node(child)  # `reconciled` decides in the end which groups go
            case weighted.DeltaFilter(input=child):
                return _filtered(node, self.node(child))
            case weighted.DeltaProject(input=child):
                return _computed(node, self.node(child))
            case weighted.Sum(inputs=inputs):
                return sums.summed(node, [self.node(input) for input in inputs])
            case weighted.Negate(input=child):
                return sums.negated(node, self.node(child))
            case weighted.Consolidate(input=child):
                return sums.consolidated(node, self.node(child))
            case weighted.Pairs(left=left, right=right):
                return joins.paired(node, self.node(left), self.node(right))
            case weighted.SemiJoin(left=left, right=right):
                return joins.matched(node, self.node(left), self.node(right))
            case weighted.KeySemiJoin(input=child, of=of):
                return joins.among(node, self.node(child), self.node(of))
            case weighted.PartialAggregate(input=child):
                return groups.tallied(node, self.node(child))
            case weighted.Groups(input=child):
                return groups.grouped(node, self.node(child))
            case weighted.First(input=child):
                return groups.first(node, self.node(child))
            case _:
                assert_never(node)

    def _read(self, read: weighted.Read) -> NodeEstimate:
        buffer, moment, leaf = read.buffer, read.moment, frozenset({(read.buffer, read.moment)})
        comes = moment is weighted.Moment.CHANGE
        is_change = comes and not self.from_scratch
        known = self.buffers[buffer]
        columns = {field.column: known.columns[field.column] for field in read.fields}
        return NodeEstimate(
            read,
            (),
            formula=lambda firing, _: firing.buffers[buffer].at(moment),
            in_the_end=content(np.array([known.rows])),
            columns=looked_up(columns, is_change),
            is_change=is_change,
            changes=frozenset({buffer}) if comes else frozenset(),
            needs=leaf if moment is weighted.Moment.BEFORE else frozenset(),
            origin=leaf,
            arrived=leaf if comes else frozenset(),
            before=moment is weighted.Moment.BEFORE,
        )

    def _holds(self, guard: weighted.Guard) -> bool:
        """The general outcome: before a firing it is unknown whether each child has its parent."""
        if self.from_scratch:
            return True
        return not guard.level and all(self.buffers[buffer].only_grows for buffer in guard.appended)


def _rows(node: weighted.Rows) -> NodeEstimate:
    rows = float(len(node.rows))
    spread = Spread(ColumnStatistics(max(1.0, rows)), Moves.NEVER, max(1.0, rows), NOWHERE, max(1.0, rows))
    return NodeEstimate(
        node,
        (),
        formula=lambda firing, _: content(np.full(len(firing.own_rows), rows)),
        in_the_end=content(np.array([rows])),
        columns={field.column: spread for field in node.fields} or NO_COLUMNS,
    )


def _filtered(where: weighted.DeltaFilter, child: NodeEstimate) -> NodeEstimate:
    """The rows for which the condition is true: the same share before and after they are replaced."""
    share = share_of(where.condition, child.columns)
    rows = child.above(where, lambda _, inputs: inputs[0].kept(share, share))
    return replace(rows, columns=filtered(child.columns, where.condition, share))


def _computed(node: weighted.DeltaProject, child: NodeEstimate) -> NodeEstimate:
    columns = {
        column.field.column: computed(column.value, child.columns, child.rows) for column in node.columns
    }
    return replace(child.above(node, unchanged), columns=columns)
