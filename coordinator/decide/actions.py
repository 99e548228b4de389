"""What may be decided, and what may come of it: the words between the decisions and what carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from catalog.queries.paces import Period
from catalog.queries.running import Failure, Run, Running
from coordinator.decide.due import Due
from coordinator.decide.pacing import Paced
from planner.pace.paths import Path


@dataclass(frozen=True, slots=True)
class Waiting:
    """Since when a query is due, by both clocks, and how many seconds of work it is expected to take."""

    moment: datetime
    since: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Publication:
    """Results that are published in one transaction, at one position: those that are left to compute, and
    those that are computed.

    `runs`: statements that ask for it. `unasked`: it is due whether those wait or not.
    """

    position: int
    left: Mapping[UUID, Due]
    computed: Mapping[UUID, Due]
    runs: frozenset[UUID]
    unasked: bool

    @property
    def members(self) -> frozenset[UUID]:
        """The queries that no other publication may have meanwhile."""
        return frozenset((*self.left, *self.computed))


@dataclass(frozen=True, slots=True)
class ReadSizes:
    """Read how much work the results of queries are expected to be that are due from now on."""

    queries: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class Compute:
    """Compute a result up to the position of its publication, without publishing it.

    `emptied`: a crash may have emptied the table. `is_awaited`: a client waits for it.
    """

    due: Due
    publication: Publication
    emptied: bool
    is_awaited: bool


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish all results of a publication that could be computed."""

    publication: Publication
    waiting: Mapping[UUID, Waiting]


@dataclass(frozen=True, slots=True)
class Discard:
    """Discard what was computed for a publication: nobody waits for it any more."""

    publication: Publication


@dataclass(frozen=True, slots=True)
class FailRun:
    """Tell a client why its statement fails."""

    query: Running
    run: UUID
    failure: Failure


@dataclass(frozen=True, slots=True)
class TellRetry:
    """Tell the clients that wait for a query that it is tried again, and why."""

    query: Running
    failure: Failure


@dataclass(frozen=True, slots=True)
class RecordFailure:
    """Give a query the status that follows from its failure, and tell the statements that wait for it."""

    query: Running
    status: str
    failure: Failure
    refreshes: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class NoteDue:
    """Record when triggers fire next, or fired, for those who ask how late a result is."""

    moments: Mapping[UUID, datetime | None]


@dataclass(frozen=True, slots=True)
class LookAtVerifications:
    """Go on with the VERIFY statements that wait."""

    queries: Mapping[UUID, Running]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class ReadPeriods:
    """Read the periods of these queries: how many rows arrived, and were expected."""

    queries: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class CheckDrift:
    """Find out whether the period of a query goes another way than its paces were chosen for."""

    query: Running
    period: Period


@dataclass(frozen=True, slots=True)
class ChoosePaces:
    """Choose paces for the period of a query; `is_same_period`: they were chosen in this period before."""

    query: Running
    is_same_period: bool


@dataclass(frozen=True, slots=True)
class ReadPaths:
    """Read how far the paths of these queries have come, of those that have early runs."""

    queries: tuple[Running, ...]


@dataclass(frozen=True, slots=True)
class RunEarly:
    """Run paths between triggers, each with the rows that have arrived for it.

    `consolidate`: rows that were taken back since are not looked at.
    """

    query: Running
    position: int
    rows: Mapping[Path, int]
    consolidate: bool


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop what is kept of queries that are gone; with `history`, also what is old of the others."""

    queries: frozenset[UUID]
    history: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until something changes, or one of these positions is captured, which are behind `position`."""

    position: int
    targets: tuple[int, ...]


Note: TypeAlias = FailRun | TellRetry | RecordFailure | NoteDue | LookAtVerifications | Forget
"""What takes no time: any number comes before what does."""

ResultWork: TypeAlias = ReadSizes | Compute | Publish | Discard
PeriodWork: TypeAlias = ReadPeriods | CheckDrift | ChoosePaces | ReadPaths | RunEarly

Work: TypeAlias = ResultWork | PeriodWork | Wait
"""What takes time: one is decided on, and the next one when it is done."""

Action: TypeAlias = Note | Work


@dataclass(frozen=True, slots=True)
class Computed:
    """It went well."""


@dataclass(frozen=True, slots=True)
class NotWanted:
    """Nobody wanted it any more."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It failed; `engine_lost`: together with the executor, which may be no fault of the query."""

    failure: Failure
    engine_lost: bool = False


Outcome: TypeAlias = Computed | NotWanted | Failed


@dataclass(frozen=True, slots=True)
class Published:
    """What came of the results of a publication; `failed`: why, None where query or plan have changed."""

    done: frozenset[UUID]
    failed: Mapping[UUID, Failure | None]


@dataclass(frozen=True, slots=True)
class PacedPeriod:
    """The paths of a query, and its period."""

    paths: tuple[Paced, ...]
    period: Period
