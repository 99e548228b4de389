"""What firings took, and what the cost model learned from it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

from catalog.queries.measured import Measured
from catalog.rows import mapping_of, named, rows_of, value_of

_MEASURED: Final = """
    SELECT m.features, m.work, m.elapsed,
        e.query_ids[1] || ' ' || m.subplan || ' ' || coalesce(p.digest, '') AS subplan
    FROM gavial.measurements m JOIN gavial.executions e ON e.id = m.execution
    LEFT JOIN gavial.plans p ON p.query_id = e.query_ids[1] AND p.planned <= e.started
    WHERE (m.features ->> 'jobs')::float8 > 0
    ORDER BY m.execution DESC, m.subplan LIMIT %s
"""
_OWN: Final = """
    SELECT m.features, m.work, m.elapsed, m.subplan::text
    FROM gavial.plans p JOIN gavial.executions e ON e.query_ids = ARRAY[p.query_id] AND e.started >= p.planned
    JOIN gavial.measurements m ON m.execution = e.id
    WHERE p.query_id = %s AND (m.features ->> 'jobs')::float8 > 0
    ORDER BY m.execution DESC, m.subplan LIMIT %s
"""
_FIRED: Final = """
    WITH period AS (
        SELECT t.position AS since, lead(t.position) OVER (ORDER BY t.fired) AS position
        FROM gavial.triggers t WHERE t.query_id = %(query)s ORDER BY t.fired DESC LIMIT 1 OFFSET %(ago)s
    ), fired AS (
        SELECT e.id, e.paths FROM period p JOIN gavial.executions e
            ON e.position > p.since AND (p.position IS NULL OR e.position <= p.position)
        WHERE e.query_ids = ARRAY[%(query)s::uuid] AND e.finished IS NOT NULL
    )
"""
_WRITTEN: Final = f"""
    {_FIRED} SELECT m.subplan AS key, sum(m.rows_out)::int8 AS value
    FROM fired f JOIN gavial.measurements m ON m.execution = f.id GROUP BY m.subplan
"""
_FIRINGS: Final = (
    f"{_FIRED} SELECT p.path AS key, count(*) AS value FROM fired f, unnest(f.paths) p (path) GROUP BY p.path"
)
_MOST: Final = 1000
"""So many of the latest measurements are read, because machines and tables change."""


def measured(connection: Connection) -> tuple[Measured, ...]:
    """The latest firings that took a job."""
    return rows_of(connection, Measured, _MEASURED, (_MOST,))


def own_measured(connection: Connection, query: UUID) -> Mapping[int, Sequence[Measured]]:
    """The same of one query under the plan that it has, by subplan."""
    firings: defaultdict[int, list[Measured]] = defaultdict(list)
    for firing in rows_of(connection, Measured, _OWN, (query, _MOST)):
        firings[int(firing.subplan)].append(firing)
    return firings


def rows_written(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """The rows each subplan wrote in the period so many periods ago; 0 is the one that is under way."""
    return mapping_of(connection, _WRITTEN, {"query": query, "ago": ago})


def firings(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """How often each path was run in that period; the run at the trigger is one of them."""
    return mapping_of(connection, _FIRINGS, {"query": query, "ago": ago})


def weights(connection: Connection) -> Mapping[str, float] | None:
    """The weights that were fitted last; None where there are none yet."""
    fitted: Mapping[str, float] | None = value_of(connection, "SELECT weights FROM gavial.weights")
    return fitted


def save_weights(connection: Connection, weights: Any) -> None:
    """What is known from now on: a dataclass of numbers."""
    connection.execute(
        "INSERT INTO gavial.weights (weights) VALUES (%s) "
        "ON CONFLICT (single) DO UPDATE SET weights = excluded.weights, fitted = now()",
        (json.dumps(named(weights)),),
    )
