"""What a period is expected to bring, and the schedule of how often each path is run in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from catalog.errors import InvalidParameterValue
from planner.pace.paths import Path


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rows of a table that a period brings."""

    inserts: float
    updates: float = 0.0
    deletes: float = 0.0

    @property
    def changed(self) -> float:
        """The number of changed rows: an update is two."""
        return self.inserts + 2.0 * self.updates + self.deletes

    @property
    def retracted(self) -> float:
        """The changed rows that take one back."""
        return self.updates + self.deletes

    def scaled(self, rows: float) -> Arrivals:
        """This many changed rows, each kind in proportion; all inserts if there are none."""
        if not self.changed:
            return Arrivals(rows)
        factor = rows / self.changed
        return Arrivals(self.inserts * factor, self.updates * factor, self.deletes * factor)


class Paces(Enum):
    """What has a pace of its own: each path or, if forced, the whole query or each path from a table."""

    AUTO = "auto"
    UNIFORM = "uniform"
    LEAF = "leaf"


MAX_COST: Final = 3.0


@dataclass(frozen=True, slots=True)
class Goal:
    """How much work may be left when the trigger fires: a share of the batch's, or so many seconds.

    `max_cost`: how many times the batch's work all runs of a period may take. `recomputes`: whether a run may
    compute everything from scratch where that is cheaper.
    """

    final_work: float
    max_pace: int
    seconds: float | None = None
    paces: Paces = Paces.AUTO
    max_cost: float = MAX_COST
    recomputes: bool = True


def is_wish(goal: Goal) -> bool:
    """Whether some work is to be done before the trigger."""
    return goal.final_work < 1 or goal.seconds is not None


def goal_of(options: Mapping[str, object]) -> Goal:
    """The goal that the options of a query ask for; others than Gavial may have written these."""
    seconds = options.get("LATENCY_GOAL")
    try:
        return Goal(
            float(str(options.get("FINAL_WORK", 1))),
            int(str(options.get("MAX_PACE", 100))),
            None if seconds is None else float(str(seconds).removesuffix(" s")),
            Paces(options.get("PACES", "auto")),
            float(str(options.get("MAX_COST", MAX_COST))),
            options.get("METHOD", "auto") == "auto",
        )
    except ValueError as error:
        raise InvalidParameterValue(
            "the goal of a standing query cannot be read",
            detail=f"{error}.",
            hint="Give its options again: ALTER STANDING QUERY … SET (FINAL_WORK = 0.05, MAX_PACE = 100).",
        ) from error


@dataclass(frozen=True, slots=True)
class PathPlan:
    """How often a path is run, the incrementability of its last raise, and why it is run no more often."""

    path: Path
    pace: int
    incrementability: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class SubplanPlan:
    """The expected work of each firing of a subplan in a period, the last one at the trigger.

    `engines`: what is to compute each. `reason`: why that of the last one.
    """

    writes: int
    firings: tuple[float, ...]
    engines: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Point:
    """A step of the search: the work left for the trigger, all work, and the paths raised to a pace."""

    final_work: float
    total_work: float
    raised: tuple[Path, ...]
    pace: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """Work in seconds of a processor. `batch_work`: of computing all in one run, by changes or from scratch,
    whichever is cheaper. `reachable`: the least final share."""

    goal: Goal
    paths: tuple[PathPlan, ...]
    subplans: tuple[SubplanPlan, ...]
    final_work: float
    total_work: float
    batch_work: float
    recompute_work: float
    reachable: float
    curve: tuple[Point, ...]
