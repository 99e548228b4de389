"""How often the parts of each query are worked until its next trigger: chosen when no answer is owed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import psycopg
from psycopg import Connection

from catalog.errors import Error, Fenced
from catalog.measurements import measured, rows_written, save_weights, weights
from catalog.paces import (
    PacedPath,
    SubplanText,
    corrections_of,
    save_expected,
    save_outlook,
    save_paces,
)
from catalog.running import Running
from catalog.store import hold_epoch
from coordinator.expecting import arrivals as expected_arrivals
from coordinator.failing import failure_of
from coordinator.outlook import Outlook, changed_rows, corrections_from
from coordinator.query import StandingQuery
from coordinator.statistics import read_statistics
from planner.cost import Weights, weights_from
from planner.fitting import Measured, fit
from planner.pace import limit_of, scheduled, simulated
from planner.pace_knobs import knobs_of
from planner.schedule import Arrivals, Schedule, goal_of
from planner.simulation import Corrections
from planner.weighted import DeltaPlan, NodeBuffer, TableBuffer
from sources.place import Place

log = logging.getLogger(__name__)

_FIT_SECONDS: Final = 10.0
_REST: Final = 20.0
"""Choosing paces takes no more of the time than one part in so many."""


@dataclass(frozen=True, slots=True)
class _Made:
    """For which answer and which options, how long it took, and until when that will do."""

    position: int | None
    options: Mapping[str, object]
    until: float


class Scheduling:
    """One query at a time, after each of its answers."""

    def __init__(self, place: Place, standing: Callable[[Connection, Running], StandingQuery]) -> None:
        self._place = place
        self._standing = standing
        self._made: dict[UUID, _Made] = {}
        self._weights: Weights | None = None
        self._fitted = float("-inf")

    def step(self, connection: Connection, queries: Mapping[UUID, Running]) -> bool:
        """Choose for one query that has had an answer since; False if there is none."""
        self._made = {id: made for id, made in self._made.items() if id in queries}
        for query in queries.values():
            if query.status == "active" and query.answered and query.captured and self._is_late(query):
                began = time.monotonic()
                self._choose_or_say(connection, query)
                now = time.monotonic()
                rest = _REST * len(queries) * (now - began)
                self._made[query.id] = _Made(query.position, query.options, now + rest)
                return True
        return False

    def _is_late(self, query: Running) -> bool:
        made = self._made.get(query.id)
        if made is None or made.options != query.options:
            return True
        return made.position != query.position and made.until < time.monotonic()

    def _choose_or_say(self, connection: Connection, query: Running) -> None:
        try:
            self._choose(connection, query)
        except (Error, psycopg.Error) as error:
            if isinstance(error, Fenced) or connection.closed:
                raise
            log.info("standing query %s, its paces: %s", query, failure_of(error))

    def _choose(self, connection: Connection, query: Running) -> None:
        standing = self._standing(connection, query)
        prepared = standing.prepared
        arrivals = expected_arrivals(connection, query, prepared.tables)
        statistics = read_statistics(connection, prepared.tables)
        known = self._known_weights(connection)
        corrections = _corrections(connection, query, standing)
        played = simulated(prepared.work.plan, statistics, arrivals, known, corrections)
        goal = goal_of(query.options)
        schedule = scheduled(played, goal, knobs_of(goal.paces, played))
        rows = {each.oid: changed_rows(arrivals.get(each.name, Arrivals(0.0))) for each in prepared.tables}
        with connection.transaction():
            hold_epoch(connection, self._place.epoch)
            save_paces(connection, query.id, _paths(schedule, prepared.work.plan))
            save_expected(connection, query.id, rows)
            save_outlook(
                connection,
                query.id,
                _subplans(prepared.work.plan, corrections),
                final_work=schedule.final_work / schedule.batch_work if schedule.batch_work else 1.0,
                batch_work=schedule.batch_work,
                recompute_work=schedule.recompute_work,
                reachable=_is_reachable(schedule, known),
            )
        standing.outlook = Outlook(played, schedule, prepared.work.tables)

    def _known_weights(self, connection: Connection) -> Weights:
        """As they were fitted, and now and then anew from what was measured."""
        now = time.monotonic()
        if self._weights is None:
            self._weights = weights_from(weights(connection) or {})
        if now - self._fitted > _FIT_SECONDS:
            seen = [Measured(*each) for each in measured(connection)]
            if seen:
                self._fitted = now
                self._weights = fit(seen)
                with connection.transaction():
                    hold_epoch(connection, self._place.epoch)
                    save_weights(connection, self._weights)
        return self._weights


def _corrections(connection: Connection, query: Running, standing: StandingQuery) -> Corrections:
    """What the period that has ended tells of the estimates; else what is known of them."""
    if standing.outlook is None:
        return corrections_from(corrections_of(connection, query.id))
    if not standing.came:
        return standing.outlook.played.corrections
    return standing.outlook.corrections(standing.came, rows_written(connection, query.id))


def _is_reachable(schedule: Schedule, known: Weights) -> bool:
    return schedule.reachable * schedule.batch_work <= limit_of(schedule.goal, schedule.batch_work, known)


def _paths(schedule: Schedule, plan: DeltaPlan) -> Sequence[PacedPath]:
    works = {each.writes: sum(each.firings) for each in schedule.subplans}
    return [
        PacedPath(
            number,
            each.path.writes,
            _what(plan, each.path.reads),
            each.pace,
            each.incrementability,
            works[each.path.writes],
            each.reason,
        )
        for number, each in enumerate(schedule.paths)
    ]


def _subplans(plan: DeltaPlan, corrections: Corrections) -> Sequence[SubplanText]:
    known = {buffer: each.inserts for buffer, each in corrections.items()}
    return [
        SubplanText(each.writes, _what(plan, each.writes), each.method, known.get(each.writes))
        for each in plan.subplans
    ]


def _what(plan: DeltaPlan, buffer: int) -> str:
    """A table by its name, a node by what it is and its number."""
    match plan.buffers[buffer]:
        case TableBuffer(table=table):
            return f"{table.schema}.{table.name}"
        case NodeBuffer(number=number, what=what):
            return f"{what} {number}"
