"""Which paths of which query are run between triggers, and what the failure of such a run means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from catalog.queries.running import Running
from coordinator.decide.actions import Computed, Failed, NotWanted, Outcome, PacedPeriod, ReadPaths, RunEarly
from coordinator.decide.facts import Facts
from coordinator.decide.pacing import due, rows_of
from planner.pace.paths import Path


@dataclass(frozen=True, slots=True)
class _Tried:
    """The rows that paths would have had in early runs that failed, in the period since a position."""

    since: int | None
    rows: Mapping[Path, int]


@dataclass(frozen=True, slots=True)
class EarlyRuns:
    """How far paths have come is in the catalog; it is read when something was captured since.

    `read`: what was read of queries that were not looked at yet, when changes were captured up to `read_at`.
    `done_at`: up to there nothing is due.
    """

    read: Mapping[UUID, PacedPeriod] = field(default_factory=dict)
    read_at: int | None = None
    done_at: int | None = None
    tried: Mapping[UUID, _Tried] = field(default_factory=dict)

    def renewed(self) -> EarlyRuns:
        """Something else than captured changes may have made paths due."""
        return replace(self, read={}, read_at=None, done_at=None)


def next_early_run(
    state: EarlyRuns, facts: Facts, able: Mapping[UUID, Running]
) -> tuple[EarlyRuns, ReadPaths | RunEarly | None]:
    """The next early run; None where no path has passed a mark since it was last run."""
    if state.done_at == facts.position:
        return state, None
    if state.read_at != facts.position:
        queries = tuple(query for query in able.values() if _may_run(query, facts.position))
        return (state, ReadPaths(queries)) if queries else (replace(state, done_at=facts.position), None)
    tried = {id: tried for id, tried in state.tried.items() if id in able}
    read = {id: period for id, period in state.read.items() if id in able}
    while read:
        id = next(iter(read))
        query, period = able[id], read.pop(id)
        if rows := _due_rows(tried.get(id), query, period):
            state = replace(state, read=read, tried=tried)
            return state, RunEarly(query, facts.position, rows, bool(_rows_tried(tried.get(id), query)))
    return replace(state, read={}, read_at=None, done_at=facts.position, tried=tried), None


def after_reading(state: EarlyRuns, periods: Mapping[UUID, PacedPeriod], position: int) -> EarlyRuns:
    """The state when paths were read, while changes were captured up to a position."""
    return replace(state, read=periods, read_at=position)


def after_early_run(state: EarlyRuns, action: RunEarly, outcome: Outcome) -> EarlyRuns:
    """The state after an early run: what failed is tried again at the next mark.

    Then nothing is looked at that was taken back: between results there may be errors that none has.
    """
    match outcome:
        case Computed() | NotWanted():
            return state
        case Failed():
            query = action.query
            rows = {**_rows_tried(state.tried.get(query.id), query), **action.rows}
            return replace(state, tried={**state.tried, query.id: _Tried(query.position, rows)})


def _may_run(query: Running, position: int) -> bool:
    is_current = query.status == "active" and query.captured
    return is_current and query.position is not None and query.position < position


def _due_rows(tried: _Tried | None, query: Running, paced_period: PacedPeriod) -> Mapping[Path, int]:
    """The rows of the period that have arrived for each path that is due."""
    period, rows_tried = paced_period.period, _rows_tried(tried, query)
    paths = [
        replace(paced, rows_at_last_run=max(paced.rows_at_last_run, rows_tried.get(paced.path, 0)))
        for paced in paced_period.paths
    ]
    tables = {paced.path: paced.tables for paced in paths}
    return {
        path: rows_of(tables[path], period.arrived) for path in due(paths, period.arrived, period.expected)
    }


def _rows_tried(tried: _Tried | None, query: Running) -> Mapping[Path, int]:
    """How many rows of this period there were when paths were last run in vain."""
    return tried.rows if tried is not None and tried.since == query.position else {}
