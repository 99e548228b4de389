"""Which tables that could not be captured are copied again: at once where they may be read now, or where a
statement waits that has seen no attempt yet; else ever less often.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from catalog.capture.stopped import StoppedTable
from coordinator.decide.failure_policy import Pause


@dataclass(frozen=True, slots=True)
class StoppedTables:
    """How long each stopped table is left alone, and which of them the login may not read."""

    pauses: Mapping[int, Pause] = field(default_factory=dict)
    forbidden: frozenset[int] = frozenset()

    def without(self, captured: Collection[int]) -> StoppedTables:
        """What is kept once these tables are captured again."""
        return StoppedTables(
            {table: pause for table, pause in self.pauses.items() if table not in captured},
            self.forbidden - frozenset(captured),
        )


def tables_to_copy(
    state: StoppedTables, stopped: Sequence[StoppedTable], seconds: float
) -> tuple[StoppedTables, tuple[int, ...]]:
    """The tables whose turn it is at this time, and the state when their copies are asked for."""
    forbidden = state.forbidden | {table.relation for table in stopped if table.is_forbidden}
    allowed = {table.relation: table for table in stopped if not table.is_forbidden}
    pauses = {**{table: Pause().longer(seconds) for table in allowed}, **state.pauses}
    again = tuple(
        table
        for table, known in allowed.items()
        if known.is_awaited or table in forbidden or pauses[table].is_over(False, seconds)
    )
    pauses |= {table: pauses[table].longer(seconds) for table in again}
    return StoppedTables(pauses, forbidden - frozenset(again)), again
