"""A database, its clock and its clients as the coordinator's decisions see them: no server, no Spark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from catalog.queries.paces import Period
from catalog.queries.running import Failure, Run, Running
from coordinator.decide.decide import State
from coordinator.decide.facts import Facts

EPOCH = datetime(2025, 3, 1, tzinfo=UTC)


@dataclass
class ModelQuery:
    """A query as the catalog has it, and what is wrong with it.

    `faults`: what its next computations end in. `bad_data`: up to a position its data have an error.
    `rows_run`: rows of the period that early runs have had.
    """

    running: Running
    tables: tuple[int, ...]
    seconds: float
    pace: int
    faults: list[Failure] = field(default_factory=list)
    unpublishable: int = 0
    bad_data: int = -1
    rows_run: int = 0

    @property
    def id(self) -> UUID:
        return self.running.id


@dataclass
class ModelRun:
    """A REFRESH that somebody waits for, or has waited for."""

    run: Run
    state: str = "waiting"


@dataclass
class ModelDatabase:
    """What the catalog, the clock and capture say."""

    seconds: float = 0.0
    position: int = 1
    changes: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    queries: dict[UUID, ModelQuery] = field(default_factory=dict)
    runs: dict[UUID, ModelRun] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.seconds)

    def arrived(self, query: ModelQuery) -> dict[int, int]:
        """The changed rows since the query's result, by table."""
        since = query.running.position or 0
        return {
            table: sum(rows for at, rows in self.changes.get(table, ()) if at > since)
            for table in query.tables
        }

    def period(self, query: ModelQuery) -> Period:
        return Period(self.arrived(query), dict.fromkeys(query.tables, 100.0))

    def last_change(self, query: ModelQuery) -> int:
        return max((at for table in query.tables for at, _rows in self.changes.get(table, ())), default=0)

    def waiting(self) -> tuple[Run, ...]:
        return tuple(known.run for known in self.runs.values() if known.state == "waiting")

    def facts(self, state: State) -> Facts:
        counted = [query for query in self.queries.values() if "rows" in trigger(query.running)]
        return Facts(
            now=self.now,
            seconds=self.seconds,
            position=self.position,
            queries=tuple(query.running for query in self.queries.values()),
            runs=self.waiting(),
            rows_waiting={query.id: sum(self.arrived(query).values()) for query in counted},
            changed_at={
                id: self.last_change(self.queries[id])
                for id in state.results.resting.seen_at
                if id in self.queries
            },
        )


def trigger(query: Running) -> str:
    return str(query.options.get("TRIGGER", "on demand"))


def standing(number: int, **changes: object) -> Running:
    """A query that has just been made."""
    query = Running(
        id=UUID(int=number),
        view=number,
        result=number,
        text="SELECT 1",
        options={},
        settings={"TimeZone": "UTC"},
        status="initialising",
        sqlstate=None,
        detail=None,
        position=None,
        fired=None,
        captured=True,
        unlogged=False,
        schema="public",
        name=f"q{number}",
        owner="ann",
    )
    return replace(query, **changes)  # type: ignore[arg-type]
