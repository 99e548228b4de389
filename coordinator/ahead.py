"""What is worked between triggers: one firing at a time, whenever no answer is owed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from psycopg import Connection

from catalog.paces import Period, paced_queries, periods
from catalog.running import Running
from coordinator.engine import Cancelled
from coordinator.failing import ends_all, log_failure
from coordinator.pacing import Paced, due, rows_of
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
        able = [query for query in paced if query in queries and _is_able(queries[query], position)]
        for id, period in periods(connection, able).items():
            if self._work(connection, queries[id], period, position):
                return True
        self._seen = position
        return False

    def _work(self, connection: Connection, query: Running, period: Period, position: int) -> bool:
        """What fails is tried again at the next mark, without what was taken back.

        Between answers there may be errors that none has.
        """
        rows: dict[Path, int] = {}
        try:
            standing = self._standing(connection, query)
            paths = self._since_tried(query, standing.paced(connection))
            tables = {paced.path: paced.tables for paced in paths}
            rows |= {
                path: rows_of(tables[path], period.came) for path in due(paths, period.came, period.expected)
            }
            if not rows:
                return False
            failed, wanted = bool(self._had(query)), self._wanted(connection, query)
            return standing.work_ahead(connection, query, position, rows, failed, wanted)
        except Cancelled:
            return False
        except Exception as error:
            if ends_all(error, connection):
                raise
            log_failure(log, query, error, "work ahead of the trigger")
            self._tried[query.id] = query.position, {**self._had(query), **rows}
            return False

    def _since_tried(self, query: Running, paths: Iterable[Paced]) -> tuple[Paced, ...]:
        had = self._had(query)
        return tuple(replace(paced, had=max(paced.had, had.get(paced.path, 0))) for paced in paths)

    def _had(self, query: Running) -> Mapping[Path, int]:
        """How many rows of this period there were when paths were last run in vain."""
        since, rows = self._tried.get(query.id, (None, {}))
        return rows if since == query.position else {}


def _is_able(query: Running, position: int) -> bool:
    return (
        query.status == "active"
        and query.captured
        and query.position is not None
        and query.position < position
    )
