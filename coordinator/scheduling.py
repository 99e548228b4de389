"""How often the parts of each query are worked until its next trigger: chosen when no answer is owed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.measurements import firings, measured, own_measured, rows_written, save_weights, weights
from catalog.paces import (
    Period,
    corrections_of,
    paces_of,
    periods,
    save_expected,
    save_outlook,
    save_paces,
)
from catalog.running import Running, lock_query
from catalog.schema import TableName
from catalog.store import hold_epoch
from coordinator.expecting import expected_arrivals
from coordinator.failing import ends_all, log_failure
from coordinator.outlook import Outlook, at_the_beginning, changed_rows, corrections_from, scaled
from coordinator.query import StandingQuery
from coordinator.recording import paced_paths, subplan_texts
from coordinator.statistics import read_statistics
from coordinator.straying import Worked, is_astray
from coordinator.watching import Watching
from planner.algebra.statistics import Statistics
from planner.cost import Weights, weights_from
from planner.fitting import Measured, fit
from planner.pace import limit_of, scheduled, simulated
from planner.pace_knobs import knobs_of
from planner.schedule import Arrivals, Schedule, goal_of
from planner.simulation import Corrections, OwnWeights
from sources.warehouse.site import Place

log = logging.getLogger(__name__)

_FIT_SECONDS: Final = 10.0
_REST: Final = 20.0
"""Choosing paces takes no more of the time than one part in so many."""


@dataclass(frozen=True, slots=True)
class _Made:
    """The result and the options that paces were chosen for, and until when they will do."""

    position: int | None
    options: Mapping[str, object]
    until: float


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What the tables of a query held at its answer."""

    position: int | None
    statistics: Statistics


class Scheduling:
    """One query at a time, after each of its answers, and where its period goes another way than expected."""

    def __init__(self, place: Place, standing: Callable[[Connection, Running], StandingQuery]) -> None:
        self._place = place
        self._standing = standing
        self._made: dict[UUID, _Made] = {}
        self._beginnings: dict[UUID, _Beginning] = {}
        self._astray: set[UUID] = set()
        self._watching = Watching()
        self._weights: Weights | None = None
        self._fitted = float("-inf")

    def step(self, connection: Connection, queries: Mapping[UUID, Running]) -> bool:
        """Choose for one query that has had an answer since, or is astray; False if there is none."""
        self._made = {id: made for id, made in self._made.items() if id in queries}
        self._beginnings = {id: beginning for id, beginning in self._beginnings.items() if id in queries}
        self._astray &= queries.keys()
        able = [
            query
            for query in queries.values()
            if query.status == "active" and query.answered and query.captured
        ]
        self._look(connection, able)
        for query in able:
            if self._is_late(query):
                began = time.monotonic()
                with _told(connection, query):
                    self._choose(connection, query)
                now = time.monotonic()
                until = now + _REST * len(queries) * (now - began)
                self._made[query.id] = _Made(query.position, query.options, until)
                self._astray.discard(query.id)
                return True
        return False

    def _is_late(self, query: Running) -> bool:
        made = self._made.get(query.id)
        if made is None or made.options != query.options:
            return True
        is_other = made.position != query.position or query.id in self._astray
        return is_other and made.until < time.monotonic()

    def _look(self, connection: Connection, able: Sequence[Running]) -> None:
        begun = {query.id: query for query in able if self._is_begun(query)}
        for query, period in self._watching.stirred(connection, begun):
            with _told(connection, query):
                if self._is_astray(connection, query, period):
                    self._astray.add(query.id)

    def _is_begun(self, query: Running) -> bool:
        made = self._made.get(query.id)
        return made is not None and made.position == query.position

    def _is_astray(self, connection: Connection, query: Running, period: Period) -> bool:
        standing = self._standing(connection, query)
        if standing.outlook is None:
            return True
        arrivals = expected_arrivals(connection, query, standing.prepared.tables, period)
        if is_astray(period.expected, _rows(standing, arrivals)):
            return True
        known = self._known_weights(connection)
        if standing.outlook.is_dearer(known, _own_weights(connection, query, known)):
            return True
        return not standing.is_anew and bool(standing.outlook.misjudged(_worked(connection, query, period)))

    def _choose(self, connection: Connection, query: Running) -> None:
        standing = self._standing(connection, query)
        prepared = standing.prepared
        period = self._period(connection, query)
        arrivals = expected_arrivals(connection, query, prepared.tables, period)
        statistics = self._statistics(connection, query, standing, arrivals, period)
        known = self._known_weights(connection)
        corrections = _corrections(connection, query, standing, period)
        weights = _own_weights(connection, query, known)
        played = simulated(prepared.work.plan, statistics, arrivals, known, corrections, weights)
        goal = goal_of(query.options)
        schedule = scheduled(played, goal, knobs_of(goal.paces, played))
        with connection.transaction():
            hold_epoch(connection, self._place.epoch)
            lock_query(connection, query.id)
            save_paces(connection, query.id, paced_paths(schedule, prepared.work.plan))
            save_expected(connection, query.id, _rows(standing, arrivals))
            save_outlook(
                connection,
                query.id,
                subplan_texts(prepared.work.plan, corrections, weights),
                final_work=schedule.final_work / schedule.batch_work if schedule.batch_work else 1.0,
                batch_work=schedule.batch_work,
                recompute_work=schedule.recompute_work,
                reachable=_is_reachable(schedule, known),
            )
        standing.outlook = Outlook(played, schedule, prepared.work.tables)
        standing.came = {}

    def _period(self, connection: Connection, query: Running) -> Period:
        """What was expected before is not, where something else was answered or asked for since."""
        period, made = periods(connection, [query.id])[query.id], self._made.get(query.id)
        is_same = made is None or (made.position, made.options) == (query.position, query.options)
        return period if is_same else replace(period, expected={})

    def _statistics(
        self,
        connection: Connection,
        query: Running,
        standing: StandingQuery,
        arrivals: Mapping[TableName, Arrivals],
        period: Period,
    ) -> Statistics:
        """The statistics at the period's beginning: read once, less what had come by then."""
        began = self._beginnings.get(query.id)
        if began is None or began.position != query.position:
            tables = standing.prepared.tables
            came = {
                table.name: scaled(arrivals[table.name], period.came.get(table.oid, 0)) for table in tables
            }
            began = _Beginning(query.position, at_the_beginning(read_statistics(connection, tables), came))
            self._beginnings[query.id] = began
        return began.statistics

    def _known_weights(self, connection: Connection) -> Weights:
        """The weights that were fitted last; now and then they are fitted anew to what was measured."""
        now = time.monotonic()
        if self._weights is None:
            self._weights = weights_from(weights(connection) or {})
        if now - self._fitted > _FIT_SECONDS:
            seen = [Measured(*figures) for figures in measured(connection)]
            if seen:
                self._fitted = now
                self._weights = fit(seen)
                with connection.transaction():
                    hold_epoch(connection, self._place.epoch)
                    save_weights(connection, self._weights)
        return self._weights


@contextmanager
def _told(connection: Connection, query: Running) -> Iterator[None]:
    """What fails is written into the log: paces are as they were."""
    try:
        yield
    except Exception as error:
        if ends_all(error, connection):
            raise
        log_failure(log, query, error, "paces")


def _own_weights(connection: Connection, query: Running, known: Weights) -> OwnWeights:
    """The weights of subplans that were measured under the plan that the query has."""
    return {
        subplan: fit([Measured(*figures) for figures in firings], known)
        for subplan, firings in own_measured(connection, query.id).items()
    }


def _rows(standing: StandingQuery, arrivals: Mapping[TableName, Arrivals]) -> Mapping[int, float]:
    return {table.oid: changed_rows(arrivals[table.name]) for table in standing.prepared.tables}


def _corrections(
    connection: Connection, query: Running, standing: StandingQuery, period: Period
) -> Corrections:
    """What the period that has ended tells of the estimates, else the one under way; else what is known."""
    outlook, id = standing.outlook, query.id
    if outlook is None:
        return corrections_from(corrections_of(connection, id))
    if standing.came:
        return outlook.corrections(standing.came, firings(connection, id, 1), rows_written(connection, id, 1))
    if standing.is_anew:  # what is written is not only what came
        return outlook.played.corrections
    worked = _worked(connection, query, period)
    return outlook.corrections(worked.came, worked.firings, outlook.misjudged(worked))


def _worked(connection: Connection, query: Running, period: Period) -> Worked:
    had = {path: rows for path, (_pace, rows) in paces_of(connection, query.id).items()}
    return Worked(period.came, had, firings(connection, query.id, 0), rows_written(connection, query.id, 0))


def _is_reachable(schedule: Schedule, known: Weights) -> bool:
    return schedule.reachable * schedule.batch_work <= limit_of(schedule.goal, schedule.batch_work, known)
