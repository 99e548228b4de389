"""Which paths run between two triggers: pure, by how many rows have arrived, never by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from planner.delta.weighted import DeltaPlan
from planner.pace.paths import Path

SLACK: Final = 1.25
"""What was expected may be exceeded by this before more is."""


@dataclass(frozen=True, slots=True)
class Paced:
    """A path, its pace and the tables below it; of their rows in this period so many had come when it was
    last run."""

    path: Path
    pace: int
    tables: frozenset[int]
    rows_at_last_run: int = 0


def tables_below(plan: DeltaPlan, tables: Mapping[int, int]) -> Mapping[Path, frozenset[int]]:
    """The tables that each path's rows come from; `tables` by the numbers of their buffers."""
    below = {buffer: frozenset({table}) for buffer, table in tables.items()}
    for subplan in plan.subplans:
        below[subplan.writes] = frozenset().union(*(below[buffer] for buffer in subplan.reads))
    return {
        Path(subplan.writes, buffer): below[buffer] for subplan in plan.subplans for buffer in subplan.reads
    }


def due(
    paths: Iterable[Paced], arrived: Mapping[int, int], expected: Mapping[int, float]
) -> tuple[Path, ...]:
    """The paths that have passed another of their marks since their last run, in the order given.

    Marks that were skipped are one; the last one is the trigger's. Where nothing is expected there are none.
    """
    return tuple(paced.path for paced in paths if _is_due(paced, arrived, expected))


def rows_of(tables: Iterable[int], arrived: Mapping[int, int]) -> int:
    """How many rows of these tables came."""
    return sum(arrived.get(table, 0) for table in tables)


def _is_due(paced: Paced, arrived: Mapping[int, int], expected: Mapping[int, float]) -> bool:
    now = rows_of(paced.tables, arrived)
    rows = outgrown(sum(expected.get(table, 0.0) for table in paced.tables), now)
    return rows > 0 and _mark(paced.pace, now, rows) > _mark(paced.pace, paced.rows_at_last_run, rows)


def _mark(pace: int, arrived: int, expected: float) -> int:
    return min(pace - 1, int(pace * arrived / expected))


def outgrown(expected: float, arrived: int) -> float:
    """What may be expected where more came than was: twice as much, and so on."""
    while 0 < expected * SLACK < arrived:
        expected *= 2
    return expected
