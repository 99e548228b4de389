"""Collects the buffers and subplans of a delta plan in their order."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.algebra.logical import Field, Scan
from planner.delta.linear import Moments, Steps, read
from planner.delta.methods import Method
from planner.delta.weighted import (
    Buffer,
    DeltaPlan,
    Moment,
    NodeBuffer,
    Read,
    Subplan,
    TableBuffer,
    Weighted,
    fields,
)
from planner.delta.weighted_tree import within


@dataclass(slots=True)
class Writer:
    """What is written so far; numbers are places."""

    buffers: list[Buffer] = field(default_factory=list)
    subplans: list[Subplan] = field(default_factory=list)

    @property
    def plan(self) -> DeltaPlan:
        """The finished plan; the subplan written last computes the result."""
        return DeltaPlan(tuple(self.buffers), tuple(self.subplans))

    def table(self, scan: Scan, needed: frozenset[int]) -> Moments:
        """The content of a table, by the columns of it that are needed."""
        used = tuple(column for column in scan.columns if column.field.column in needed)
        columns = tuple(column.field for column in used)
        number = len(self.buffers)
        self.buffers.append(
            TableBuffer(number, scan.table, columns, tuple(column.attribute for column in used))
        )
        return read(number, columns)

    def state(self, columns: tuple[Field, ...]) -> Weighted:
        """The content that the next subplan has written so far: its own buffer BEFORE."""
        return Read(len(self.buffers), Moment.BEFORE, columns)

    def write(self, what: str, method: Method, steps: Steps, outcome: Weighted) -> Moments:
        """Add a subplan whose last step is the outcome; returns the content of its buffer."""
        number, columns = len(self.buffers), fields(outcome)
        steps.add(what, outcome)
        leaves = (leaf for step in steps.steps for leaf in within(step.outcome))
        inputs = {leaf.buffer for leaf in leaves if isinstance(leaf, Read)} - {number}
        self.buffers.append(NodeBuffer(number, what, columns))
        self.subplans.append(Subplan(number, tuple(sorted(inputs)), tuple(steps.steps), method.value))
        return read(number, columns)
