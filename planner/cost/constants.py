"""What the estimates assume where nothing is known.

`tests/planner/cost/test_constants.py` shows how much depends on each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planner.cost.spread import Moves

GROWING: Final = 0.1
"""A column with a greater share of distinct values gets new values as rows come: the border at which
PostgreSQL's ANALYZE takes the number of values to grow with the table."""

UNKNOWN_DISTINCT: Final = 0.1
"""The share of distinct values in a column without statistics: the same border."""

UPDATED: Final = 0.5
"""The share of replaced rows that are taken to differ in a column that is read: which columns updates change
is unknown, so neither none nor all."""

DIFFERENT: Final[Mapping[Moves, float]] = {Moves.NEVER: 0.0, Moves.OFTEN: UPDATED, Moves.ALWAYS: 1.0}
"""The share of replacements in which the row differs; for groups with extremes it is estimated."""

UNIQUE: Final = 0.9
"""If at least this share of values is distinct, each new row is taken to have a new value."""

SPREAD_OF_COUNTS: Final = 2.5
"""How many different counts groups have over which rows are spread evenly, in standard deviations: the root
of two pi, so that each is as frequent as the most frequent one is in a normal distribution."""

LEAST: Final = 1e-6
"""The least share of anything, so that shares can be divided by."""

NEARLY_ALL: Final = 0.9999
"""The most of a content that one firing replaces, so that the logarithm of what it leaves is finite."""
