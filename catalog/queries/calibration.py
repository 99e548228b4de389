"""How well the cost model predicts runs, and what it has learned: for `gavial calibrate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg import Connection

from catalog.rows import rows_of, value_of


@dataclass(frozen=True, slots=True)
class EngineWeights:
    """What the cost model has learned of an engine: seconds of a processor by feature."""

    engine: str
    weights: Mapping[str, float]
    fitted: datetime


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Parts of runs that an engine computed: their work, and how many times the prediction it was."""

    engine: str
    parts: int
    work: float
    predicted_work: float
    ratio: float


_ACCURACY: Final = """
    SELECT m.engine, count(*) AS parts, sum(m.work) AS work, sum(m.predicted) AS predicted_work,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY m.work / m.predicted) AS ratio
    FROM gavial.executions e JOIN gavial.measurements m ON m.execution = e.id
    WHERE e.started >= %s AND m.engine IS NOT NULL AND NOT m.repeated AND m.predicted > 0
        AND e.query_ids && ARRAY(SELECT s.id FROM gavial.standing_queries s WHERE s.schema_name = %s)
    GROUP BY m.engine ORDER BY m.engine
"""


def engine_weights(connection: Connection) -> tuple[EngineWeights, ...]:
    """What was learned of the engines."""
    return rows_of(
        connection, EngineWeights, "SELECT engine, weights, fitted FROM gavial.engines ORDER BY engine"
    )


def accuracy_since(connection: Connection, schema: str, since: datetime) -> tuple[Accuracy, ...]:
    """How well the runs of a schema's queries were predicted since a moment."""
    return rows_of(connection, Accuracy, _ACCURACY, (since, schema))


def server_time(connection: Connection) -> datetime:
    """The server's clock."""
    now = value_of(connection, "SELECT clock_timestamp()")
    assert isinstance(now, datetime)
    return now
