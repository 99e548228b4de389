"""What the estimates assume where nothing is known.

How much hangs on it is told by `tests/planner/cost/test_constants.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planner.cost.spread import Moves

GROWING: Final = 0.1
"""A column of which more than this share of values differ gets new ones as rows come: where PostgreSQL's
ANALYZE takes the number of values to grow with the table."""

UNKNOWN_DISTINCT: Final = 0.1
"""The share of different values in a column that nobody has looked at: the same border."""

UPDATED: Final = 0.5
"""The share of replaced rows that are taken to differ in a column which is read: which ones updates change is
not known, so neither none nor all."""

DIFFERENT: Final[Mapping[Moves, float]] = {Moves.NEVER: 0.0, Moves.OFTEN: UPDATED, Moves.ALWAYS: 1.0}
"""Of the rows that replace others, those that differ from them; of groups with extremes it is estimated."""

UNIQUE: Final = 0.9
"""If at least this share of values is different, each new row is taken to have a new one."""

SPREAD_OF_COUNTS: Final = 2.5
"""How many different counts groups have over which rows are spread evenly, in standard deviations: the root
of two pi, so that each is as frequent as the most frequent one is in a normal distribution."""

LEAST: Final = 1e-6
"""The least share of anything, so that shares can be divided by."""

NEARLY_ALL: Final = 0.9999
"""The most of a content that one firing replaces, so that the logarithm of what it leaves is finite."""
