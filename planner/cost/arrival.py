"""Estimates which rows of two sides can meet where the values that they join by arrive along with the rows.

The n-th part of such values comes with the n-th part of the rows, on both sides. So a change's new rows have
the values between where the buffer stood and where it stands; a content has all up to where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dialect.expressions.scalar import Scalar
from planner.cost.constants import LEAST
from planner.cost.node import FiringInputs, NodeEstimate
from planner.cost.row_counts import Share, Vector
from planner.cost.spread import Spread, both_grow, growing_pairs
from planner.delta.weighted import Moment


@dataclass(frozen=True, slots=True)
class Meeting:
    """The shares of a side's new rows, and of its other rows, with values that the other side has; and the
    share of all values that these are."""

    of_new: Share
    of_others: Share
    of_values: Share


ALL: Final = Meeting(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Range:
    """A range of values that arrive with rows, as shares of all values that ever arrive."""

    start: Share
    end: Share

    def common(self, other: Range) -> Vector:
        """The length of the common part of both ranges."""
        start, end = np.maximum(self.start, other.start), np.minimum(self.end, other.end)
        length: Vector = np.maximum(end - start, 0.0)
        return length


def meeting(condition: Scalar, left: NodeEstimate, right: NodeEstimate) -> Callable[[FiringInputs], Meeting]:
    """Which rows of the left side have values that the right side has, as a function of firings."""
    pair = both_grow(condition, left.columns, right.columns)
    grows = growing_pairs(condition, left.columns, right.columns)
    if pair is None:
        return lambda firing: Meeting(1.0, 1.0, firing.arrived(grows)) if grows else ALL
    of_left, of_right = left.columns[pair[0]], right.columns[pair[1]]

    def common(firing: FiringInputs) -> Meeting:
        if firing.is_everything:
            return ALL
        mine, others = _range(firing, left, of_left), _range(firing, right, of_right)
        of_new = of_others = mine.common(others) / np.maximum(mine.end - mine.start, LEAST)
        if not isinstance(mine.start, float):
            of_others = Range(0.0, mine.end).common(others) / np.maximum(mine.end, LEAST)
        return Meeting(of_new, of_others, np.maximum(others.end - others.start, LEAST))

    return common


def recent(condition: Scalar, left: NodeEstimate, right: NodeEstimate) -> Callable[[FiringInputs], Share]:
    """Of the rows of a content that meet the other side's change, the share that has only just arrived."""
    pair = both_grow(condition, left.columns, right.columns)
    if pair is None:
        buffers = [leaf[0] for leaf in left.origin if isinstance(leaf, tuple) and leaf[1] is Moment.AFTER]
        return lambda firing: np.minimum(sum(firing.buffers[buffer].new_share for buffer in buffers), 1.0)
    of_left, of_right = left.columns[pair[0]], right.columns[pair[1]]

    def share(firing: FiringInputs) -> Share:
        arrived, there = _range(firing, right, of_right), _range(firing, left, of_left)
        new = _range(firing, left, replace(of_left, fresh=True))
        return np.minimum(new.common(arrived) / np.maximum(there.common(arrived), LEAST), 1.0)

    return share


def _range(firing: FiringInputs, side: NodeEstimate, column: Spread) -> Range:
    """The range of a column's values that a side has."""
    if column.fresh:
        return Range(firing.arrived((column.source,), before=True), firing.arrived((column.source,)))
    return Range(0.0, firing.arrived((column.source,), before=side.before))
