"""What publishing a result takes: writing its changed rows into its table; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp
from typing import Final

from planner.cost.alike import Comparison, factor

_NOTHING: Final = 0.0002
_STATEMENTS: Final = 0.003
_WHOLE: Final = 0.008
"""Seconds that a result takes of which nothing has changed, one row has, and one that is compared."""

_ADDED: Final = 1.8e-6
_CHANGED: Final = 3.5e-6
_LOOKED_AT: Final = 1.2e-6
_COMPARED: Final = 3e-6
"""Seconds for each row of a first result, for each that is deleted or inserted later, for each that is looked
at to find those, and for each that is compared, before and after."""


_ONE: Final = 0.5
"""Fewer changed rows than this are none."""


@dataclass(frozen=True, slots=True)
class Published:
    """A result that was written, `as_a_whole` or by its changes: what was expected, and the seconds that took
    of processors, PostgreSQL's part included."""

    expected: float
    seconds: float
    as_a_whole: bool
    age: int = 0


@dataclass(frozen=True, slots=True)
class ResultRows:
    """How many rows a result has, and of how many changed ones at most it is known where they lie.

    `retracted_share`: the share of its changed rows that are usually taken back.
    """

    rows: float
    most_found: float = 0.0
    retracted_share: float = 0.0

    def changed_by_several(self, changed: float) -> float:
        """How many rows have changed after several runs that changed so many, whichever rows that were.

        With a share s taken back, s changed rows of it replace one of R, as often as not one that was
        replaced before: R (1 - exp(-s changed / R)) different ones, each deleted once and inserted once.
        """
        replaced, rows = self.retracted_share * changed, max(self.rows, 1.0)
        others = abs(1.0 - 2.0 * self.retracted_share) * changed
        return others + 2.0 * rows * (1.0 - exp(-replaced / rows))

    def expected_work(self, changed: float, *, as_a_whole: bool) -> float:
        """What it takes to write so many changed rows, or all rows where nothing is known of earlier ones.

        Whole results are compared with what is there; few changes are found where they lie.
        """
        if as_a_whole and self.rows:
            return _WHOLE + _COMPARED * (self.rows + changed)
        if as_a_whole:
            return _STATEMENTS + _ADDED * changed
        if changed < _ONE:
            return _NOTHING
        return _STATEMENTS + _CHANGED * changed + _LOOKED_AT * (self.rows if changed > self.most_found else 0)


def publishing_work(expected: float, earlier: Iterable[Published], *, as_a_whole: bool) -> float:
    """What it takes, by what it took earlier."""
    alike = (one for one in earlier if one.as_a_whole == as_a_whole)
    return expected * factor((Comparison(one.expected, one.seconds, one.age) for one in alike), expected)
