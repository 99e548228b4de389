"""Runs and published results, as users read of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.rows import named, rows_of, value_of

_DEARNESS: Final = """
    SELECT sum(e.measured_work) / nullif(sum(e.predicted_work), 0) FROM gavial.executions e
    WHERE e.query_ids = ARRAY[%(query)s::uuid] AND e.finished IS NOT NULL AND e.predicted_work IS NOT NULL
      AND e.position > coalesce((SELECT t.position FROM gavial.triggers t WHERE t.query_id = %(query)s
                                 ORDER BY t.fired DESC LIMIT 1), '0/0')
"""
_TRIGGER: Final = """
    WITH before AS (
        SELECT coalesce(max(position), '0/0') AS position FROM gavial.triggers WHERE query_id = %(query)s
    ), made AS (
        SELECT sum(e.measured_work) AS total FROM gavial.executions e, before b
        WHERE e.query_ids = ARRAY[%(query)s::uuid] AND e.finished IS NOT NULL AND e.position > b.position
    )
    INSERT INTO gavial.triggers (query_id, fired, position, goal, predicted_final_work, measured_final_work,
        batch_work, final_seconds, total_work, met)
    SELECT q.id, %(fired)s, '0/0'::pg_lsn + %(position)s::numeric, %(goal)s::float8, q.predicted_final_work,
        %(measured_final_work)s::float8, %(batch_work)s::float8, %(final_seconds)s::float8, made.total,
        %(met)s::boolean
    FROM gavial.queries q, made WHERE q.id = %(query)s
"""


# What the last result took that was not computed from scratch, and the rows that wait: of a first result all.
_EXPECTED: Final = """
    SELECT q.id,
        (SELECT t.measured_final_work * t.batch_work FROM gavial.triggers t
         WHERE t.query_id = q.id AND t.batch_work > 0 ORDER BY t.fired DESC LIMIT 1) AS seconds,
        (SELECT coalesce(sum(b.rows), 0)::int8
         FROM gavial.reads r JOIN gavial.batches b ON b.buffer = 'table-' || r.relation::oid
         WHERE r.query_id = q.id AND (q.status = 'initialising' OR q.position IS NULL
                                      OR b.from_offset >= (q.position - '0/0')::int8)) AS rows
    FROM gavial.queries q WHERE q.id = ANY (%s)
"""
_USUAL_SECONDS: Final = 0.5
_ROWS_PER_SECOND: Final = 100_000
"""Roughly, on any machine: only the order of queries depends on it."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a subplan took in a firing, and what the cost model sees of it.

    `expected_rows`: how many it was expected to write, by what it read. `reason`: why this engine computed
    it. `repeated`: another one had begun it and given up.
    """

    subplan: int
    rows_in: int
    rows_out: int
    expected_rows: float
    work: float
    elapsed: float
    predicted: float
    features: Mapping[str, float]
    engine: str | None
    reason: str | None
    repeated: bool


@dataclass(frozen=True, slots=True)
class Execution:
    """What a committed firing read, wrote and cost.

    `from_scratch`: it computed everything, and not changes. `changes_work`, `recompute_work`: what either was
    expected to take, publishing included; None of a way that there was not. `publishing_work`: what writing
    the result into its table took, `expected_publishing_work` what the model says; None between triggers.
    """

    position: int
    rows_in: int
    rows_out: int
    jobs: int
    cpu_seconds: float | None
    measured_work: float
    predicted_work: float | None
    engine: str | None
    from_scratch: bool
    changes_work: float | None
    recompute_work: float | None
    publishing_work: float | None = None
    expected_publishing_work: float | None = None
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, slots=True)
class GoalOutcome:
    """How a result met its goal at its trigger; final work is a share of the batch work."""

    goal: float | None
    measured_final_work: float | None
    batch_work: float | None
    final_seconds: float
    met: bool | None


def expected_seconds(connection: Connection, queries: Iterable[UUID]) -> Mapping[UUID, float]:
    """How many seconds of work the next results of queries are expected to take."""
    return dict(rows_of(connection, _expected, _EXPECTED, (list(queries),)))


def _expected(*, id: UUID, seconds: float | None, rows: int) -> tuple[UUID, float]:
    return id, (_USUAL_SECONDS if seconds is None else seconds) + rows / _ROWS_PER_SECOND


def begin_execution(connection: Connection, query: UUID, paths: Iterable[int]) -> int:
    """Record that a firing begins, and return its number."""
    number = value_of(
        connection,
        "INSERT INTO gavial.executions (query_ids, paths, started) "
        "VALUES (%s, %s, clock_timestamp()) RETURNING id",
        ([query], list(paths)),
    )
    return int(number)


def note_progress(connection: Connection, number: int, words: str | None) -> None:
    """Record how far a firing has come; None when it has failed."""
    connection.execute("UPDATE gavial.executions SET progress = %s WHERE id = %s", (words, number))


def forget_progress(connection: Connection) -> None:
    """Forget the progress of firings that never ended: none of them is under way."""
    connection.execute(
        "UPDATE gavial.executions SET progress = NULL WHERE finished IS NULL AND progress IS NOT NULL"
    )


def end_execution(connection: Connection, number: int, execution: Execution) -> None:
    """Record that a firing is committed, and what it came to."""
    connection.execute(
        "UPDATE gavial.executions SET finished = clock_timestamp(), progress = NULL, "
        "position = '0/0'::pg_lsn + %(position)s::numeric, rows_in = %(rows_in)s, rows_out = %(rows_out)s, "
        "jobs = %(jobs)s, cpu_seconds = %(cpu_seconds)s, predicted_work = %(predicted_work)s, "
        "measured_work = %(measured_work)s, engine = %(engine)s, "
        "from_scratch = %(from_scratch)s, changes_work = %(changes_work)s, "
        "recompute_work = %(recompute_work)s, publishing_work = %(publishing_work)s, "
        "expected_publishing_work = %(expected_publishing_work)s, "
        "wall_seconds = extract(epoch FROM clock_timestamp() - started) "
        "WHERE id = %(number)s",
        {"number": number, **named(execution)},
    )
    measured = [
        {**named(measurement), "execution": number, "features": json.dumps(dict(measurement.features))}
        for measurement in execution.measurements
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.measurements "
            "(execution, subplan, rows_in, rows_out, expected_rows, work, elapsed, predicted, features, "
            "engine, reason, repeated) "
            "VALUES (%(execution)s, %(subplan)s, %(rows_in)s, %(rows_out)s, %(expected_rows)s, "
            "%(work)s, %(elapsed)s, %(predicted)s, %(features)s, %(engine)s, %(reason)s, %(repeated)s)",
            measured,
        )


def measured_to_predicted(connection: Connection, query: UUID) -> float:
    """How many times as long the firings since the latest trigger took as the model says of them."""
    return float(value_of(connection, _DEARNESS, {"query": query}) or 1)


def record_trigger(
    connection: Connection, query: UUID, fired: datetime, position: int, outcome: GoalOutcome
) -> None:
    """A result is published for a trigger that fired then."""
    values = {"query": query, "fired": fired, "position": position, **named(outcome)}
    connection.execute(_TRIGGER, values)
    if outcome.measured_final_work is not None:
        connection.execute(
            "UPDATE gavial.queries SET measured_final_work = %(measured_final_work)s WHERE id = %(query)s",
            values,
        )
