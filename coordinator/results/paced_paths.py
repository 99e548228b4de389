"""The paths of a query with what of the period each has been run for, by the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from psycopg import Connection

from catalog.queries.paces import paces_of, periods
from coordinator.decide.pacing import Paced, rows_of, tables_below
from coordinator.firing.work import Work
from planner.pace.paths import Path, paths


def paced_paths(connection: Connection, query: UUID, work: Work) -> tuple[Paced, ...]:
    """The paths that are run between triggers, from the tables to the result."""
    paces = paces_of(connection, query)
    below = tables_below(work.plan, work.tables)
    return tuple(
        Paced(path, pace, below[path], rows_at_last_run)
        for number, path in enumerate(paths(work.plan))
        for pace, rows_at_last_run in [paces.get(number, (1, 0))]
    )


def arrived_rows(connection: Connection, query: UUID, work: Work) -> Mapping[Path, int]:
    """The rows of the period that have arrived for each path."""
    arrived = periods(connection, [query])[query].arrived
    return {path: rows_of(tables, arrived) for path, tables in tables_below(work.plan, work.tables).items()}
