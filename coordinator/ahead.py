"""What is worked between triggers: one firing at a time, whenever no answer is owed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from uuid import UUID

import psycopg
from psycopg import Connection

from catalog.errors import Error, Fenced
from catalog.paces import Period, paced_queries, periods
from catalog.running import Running
from coordinator.engine import Cancelled
from coordinator.failing import failure_of
from coordinator.pacing import due, rows_of
from coordinator.query import StandingQuery
from planner.paths import Path

log = logging.getLogger(__name__)


class Ahead:
    """How far it has come is in the catalog: the period's rows, and those that each path has had of them.

    Nothing is asked as long as nothing comes.
    """

    def __init__(
        self,
        captured: Callable[[], int],
        standing: Callable[[Connection, Running], StandingQuery],
        wanted: Callable[[Connection, Running], Callable[[], bool]],
    ) -> None:
        self._captured = captured
        self._standing = standing
        self._wanted = wanted
        self._seen = -1
        self._tried: dict[UUID, tuple[int | None, dict[Path, int]]] = {}

    def renew(self) -> None:
        """Something else than what came may have made paths due."""
        self._seen = -1

    def step(self, connection: Connection, queries: Mapping[UUID, Running]) -> bool:
        """Work the paths of one query that are due; False if there are none."""
        position = self._captured()
        if position == self._seen:
            return False
        paced = paced_queries(connection) if queries else frozenset()
        able = [each for each in paced if each in queries and _is_able(queries[each], position)]
        for id, period in periods(connection, able).items():
            if self._work(connection, queries[id], period, position):
                return True
        self._seen = position
        return False

    def _work(self, connection: Connection, query: Running, period: Period, position: int) -> bool:
        """What fails is tried again at the next mark: between answers there may be errors that none has."""
        standing = self._standing(connection, query)
        since, tried = self._tried.get(query.id, (None, {}))
        paths = standing.paced(connection)
        if since == query.position:
            paths = tuple(replace(each, had=max(each.had, tried.get(each.path, 0))) for each in paths)
        tables = {each.path: each.tables for each in paths}
        rows = {path: rows_of(tables[path], period.came) for path in due(paths, period.came, period.expected)}
        if not rows:
            return False
        try:
            return standing.work_ahead(connection, query, position, rows, self._wanted(connection, query))
        except Cancelled:
            return False
        except (Error, psycopg.Error) as error:
            if isinstance(error, Fenced) or connection.closed:
                raise
            log.info("standing query %s, worked ahead: %s", query, failure_of(error))
            self._tried[query.id] = query.position, {**tried, **rows} if since == query.position else rows
            return True


def _is_able(query: Running, position: int) -> bool:
    return (
        query.status == "active"
        and query.captured
        and query.position is not None
        and query.position < position
    )
