"""Whether a period goes another way than its paces were chosen for: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coordinator.decide.pacing import SLACK, outgrown

_ROWS: Final = 1.5
_FEW: Final = 100
"""Changed rows of a table by which no paces are worth another look."""

_WRITTEN: Final = 2.0
_ENOUGH: Final = 1000
"""Changed rows that a subplan has to write, or was thought to, before it tells anything."""

_MOVED: Final = 1.5
_READ: Final = 0.8


@dataclass(frozen=True, slots=True)
class Worked:
    """How far a period has come.

    `arrived`: changed rows by table. `rows_at_last_run`, `firings`: by the numbers of paths, the rows that
    had arrived at the last run of each, and how often it ran. `written`: rows by subplan.
    """

    arrived: Mapping[int, int]
    rows_at_last_run: Mapping[int, int]
    firings: Mapping[int, int]
    written: Mapping[int, int]


def expected_rows(arrived: int, coming: float | None, stated: float | None, before: float) -> float:
    """The rows of a table in a whole period: as EXPECT says until more have arrived, then those that have
    arrived and those that are forecast.

    Without a forecast it is what was expected before; where more have arrived, twice that, and so on.
    """
    if stated is not None and arrived <= stated * SLACK:
        return stated
    if coming is not None:
        return arrived + coming
    return outgrown(before if stated is None else stated, arrived)


def arrivals_have_drifted(chosen: Mapping[int, float], now: Mapping[int, float]) -> bool:
    """Whether some table brings far more or fewer rows than paces were chosen for."""
    pairs = [(chosen.get(table, 0.0), rows) for table, rows in now.items()]
    return any(max(pair) - min(pair) >= _FEW and max(pair) > _ROWS * min(pair) for pair in pairs)


def rows_were_misjudged(written: int, believed: float) -> bool:
    """Whether a subplan wrote far more or fewer rows than the cost model expected."""
    least, most = sorted((float(written), believed))
    return most >= _ENOUGH and most > _WRITTEN * least


def work_has_drifted(believed: float, now: float) -> bool:
    """Whether the work left for the trigger is now far more or less than when paces were chosen."""
    least, most = sorted((believed, now))
    return most > _MOVED * least


def has_read_most(rows_at_last_run: int, arrived: int) -> bool:
    """Whether the last run of a path had most of the arrived rows: then what it wrote can be compared."""
    return rows_at_last_run >= _READ * arrived
