"""What is known when a decision is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from catalog.queries.running import Run, Running


@dataclass(frozen=True, slots=True)
class Facts:
    """What clocks, capture and catalog say at one moment.

    `seconds`: of a clock that nobody sets. `position`: up to where changes are captured. `runs`: REFRESH and
    VERIFY statements that clients wait for. `rows_waiting`: changed rows since the last result, of queries
    whose trigger counts rows. `changed_at`: the last changes of what queries read whose data had an error.
    """

    now: datetime
    seconds: float
    position: int
    queries: tuple[Running, ...] = ()
    runs: tuple[Run, ...] = ()
    rows_waiting: Mapping[UUID, int] = field(default_factory=dict)
    changed_at: Mapping[UUID, int] = field(default_factory=dict)

    @property
    def refreshes(self) -> tuple[Run, ...]:
        """The REFRESH statements among the runs."""
        return tuple(run for run in self.runs if run.kind == "refresh")

    @property
    def verifications(self) -> tuple[Run, ...]:
        """The VERIFY statements among the runs."""
        return tuple(run for run in self.runs if run.kind == "verify")
