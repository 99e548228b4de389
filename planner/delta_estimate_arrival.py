"""Which rows of two sides can meet, where the values that are equal come with rows.

The n-th part of such values comes with the n-th part of the rows, on both sides. So a change's new rows have
the values between where the buffer stood and where it stands; a content has all up to where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from dialect.expressions.scalar import Scalar
from planner.delta.weighted import Moment
from planner.delta_part import Frame, Part
from planner.flow import Vector
from planner.spread import Spread, both_grow, growing_pairs

Share: TypeAlias = Vector | float
Shares: TypeAlias = tuple[Share, Share, Share]
"""Of a side's new rows, and of all others, those with values that the other side has; and which share of all
values these are."""

ALL: Final[Shares] = (1.0, 1.0, 1.0)

_LEAST: Final = 1e-6


def shares(condition: Scalar, left: Part, right: Part) -> Callable[[Frame], Shares]:
    """The shares of the left side's rows, as a function of a firing."""
    pair = both_grow(condition, left.columns, right.columns)
    grows = growing_pairs(condition, left.columns, right.columns)
    if pair is not None:
        of_left, of_right = left.columns[pair[0]], right.columns[pair[1]]
        return lambda frame: _common(_values(frame, left, of_left), _values(frame, right, of_right))
    return (lambda frame: (1.0, 1.0, frame.grown(grows))) if grows else lambda _: ALL


def recent(condition: Scalar, left: Part, right: Part) -> Callable[[Frame], Share]:
    """The share of just arrived rows among those of a content that meet what came on the other side."""
    pair = both_grow(condition, left.columns, right.columns)
    buffers = [leaf[0] for leaf in left.origin if isinstance(leaf, tuple) and leaf[1] is Moment.AFTER]
    if pair is None:
        return lambda frame: np.minimum(
            sum((_news(frame, buffer) for buffer in buffers), 0.0 * frame.news), 1.0
        )
    of_left, of_right = left.columns[pair[0]], right.columns[pair[1]]

    def share(frame: Frame) -> Share:
        came = _values(frame, right, of_right)
        new, there = _fresh(frame, of_left), _values(frame, left, of_left)
        return np.minimum(_overlap(new, came) / np.maximum(_overlap(there, came), _LEAST), 1.0)

    return share


def _common(left: tuple[Share, Share], right: tuple[Share, Share]) -> Shares:
    start, end = left
    new = _overlap(left, right) / np.maximum(end - start, _LEAST)
    old = _overlap((0.0, end), right) / np.maximum(end, _LEAST)
    return new, old, np.maximum(right[1] - right[0], _LEAST)


def _overlap(one: tuple[Share, Share], other: tuple[Share, Share]) -> Vector:
    common: Vector = np.maximum(np.minimum(one[1], other[1]) - np.maximum(one[0], other[0]), 0.0)
    return common


def _values(frame: Frame, part: Part, column: Spread) -> tuple[Share, Share]:
    """The share of all values at which those of the part begin, and the one at which they end."""
    if column.fresh:
        return _fresh(frame, column)
    return 0.0, frame.grown((column.source,), Moment.BEFORE if part.before else Moment.AFTER)


def _fresh(frame: Frame, column: Spread) -> tuple[Share, Share]:
    return frame.grown((column.source,), Moment.BEFORE), frame.grown((column.source,))


def _news(frame: Frame, buffer: int) -> Vector:
    before, after = frame.leaves[buffer, Moment.BEFORE][0], frame.leaves[buffer, Moment.AFTER][0]
    share: Vector = np.clip((after - before) / np.maximum(after, 1.0), 0.0, 1.0)
    return share
