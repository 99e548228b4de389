"""What firings took, and what the cost model learned from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

_MEASURED: Final = """
    SELECT features, seconds, elapsed FROM gavial.measurements WHERE (features ->> 'jobs')::float8 > 0
    ORDER BY execution DESC, subplan LIMIT %s
"""
_WRITTEN: Final = """
    SELECT m.subplan, sum(m.rows_out)::int8
    FROM (SELECT t.position, lag(t.position) OVER (ORDER BY t.fired) AS since FROM gavial.triggers t
          WHERE t.query_id = %(query)s ORDER BY t.fired DESC LIMIT 1) AS period
    JOIN gavial.executions e ON e.position > period.since AND e.position <= period.position
    JOIN gavial.measurements m ON m.execution = e.id
    WHERE e.query_ids = ARRAY[%(query)s::uuid] AND e.finished IS NOT NULL
    GROUP BY m.subplan
"""
_MOST: Final = 400
"""The latest: machines and tables change."""


def measured(connection: Connection) -> list[tuple[Mapping[str, float], float, float]]:
    """Of the latest firings of subplans that took a job: features, work, seconds that passed."""
    return list(connection.execute(_MEASURED, (_MOST,)))


def rows_written(connection: Connection, query: UUID) -> Mapping[int, int]:
    """By subplan, in the period of a query that ended last."""
    return dict(connection.execute(_WRITTEN, {"query": query}))


def weights(connection: Connection) -> Mapping[str, float] | None:
    """What was learned last."""
    row = connection.execute("SELECT weights FROM gavial.weights").fetchone()
    return None if row is None else row[0]


def save_weights(connection: Connection, weights: Any) -> None:
    """What is known from now on: a dataclass of numbers."""
    connection.execute(
        "INSERT INTO gavial.weights (weights) VALUES (%s) "
        "ON CONFLICT (single) DO UPDATE SET weights = excluded.weights, fitted = now()",
        (json.dumps(asdict(weights)),),
    )
