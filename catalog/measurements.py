"""What firings took, and what the cost model learned from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

_MEASURED: Final = """
    SELECT m.features, m.seconds, m.elapsed,
        e.query_ids[1] || ' ' || m.subplan || ' ' || coalesce(p.digest, '')
    FROM gavial.measurements m JOIN gavial.executions e ON e.id = m.execution
    LEFT JOIN gavial.plans p ON p.query_id = e.query_ids[1] AND p.planned <= e.started
    WHERE (m.features ->> 'jobs')::float8 > 0
    ORDER BY m.execution DESC, m.subplan LIMIT %s
"""
_OWN: Final = """
    SELECT m.subplan, m.features, m.seconds, m.elapsed
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
    {_FIRED} SELECT m.subplan, sum(m.rows_out)::int8
    FROM fired f JOIN gavial.measurements m ON m.execution = f.id GROUP BY m.subplan
"""
_FIRINGS: Final = f"{_FIRED} SELECT p.path, count(*) FROM fired f, unnest(f.paths) p (path) GROUP BY p.path"
_MOST: Final = 1000
"""So many of the latest measurements are read, because machines and tables change."""


def measured(connection: Connection) -> list[tuple[Mapping[str, float], float, float, str]]:
    """The features, the work, the seconds and the subplan of the latest firings that took a job."""
    return list(connection.execute(_MEASURED, (_MOST,)))


def own_measured(
    connection: Connection, query: UUID
) -> Mapping[int, Sequence[tuple[Mapping[str, float], float, float]]]:
    """The same measurements of one query under the plan that it has, by subplan."""
    measurements: dict[int, list[tuple[Mapping[str, float], float, float]]] = {}
    for subplan, *figures in connection.execute(_OWN, (query, _MOST)):
        features, work, seconds = figures
        measurements.setdefault(subplan, []).append((features, work, seconds))
    return measurements


def rows_written(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """The rows each subplan wrote in the period so many periods ago; 0 is the one that is under way."""
    return dict(connection.execute(_WRITTEN, {"query": query, "ago": ago}).fetchall())


def firings(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """How often each path was run in that period; the run at the trigger is one of them."""
    return dict(connection.execute(_FIRINGS, {"query": query, "ago": ago}).fetchall())


def weights(connection: Connection) -> Mapping[str, float] | None:
    """The weights that were fitted last; None where there are none yet."""
    row = connection.execute("SELECT weights FROM gavial.weights").fetchone()
    return None if row is None else row[0]


def save_weights(connection: Connection, weights: Any) -> None:
    """What is known from now on: a dataclass of numbers."""
    connection.execute(
        "INSERT INTO gavial.weights (weights) VALUES (%s) "
        "ON CONFLICT (single) DO UPDATE SET weights = excluded.weights, fitted = now()",
        (json.dumps(asdict(weights)),),
    )
