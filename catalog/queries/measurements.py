"""What firings took, and what the cost model learned from it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.queries.measured import Measured
from catalog.rows import mapping_of, named, rows_of


@dataclass(frozen=True, slots=True)
class KnownEngine:
    """An engine, its weights by feature, and the most rows and bytes of a firing; None: no bound."""

    engine: str
    weights: Mapping[str, float]
    most_changed: float | None
    most_read: float | None
    most_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """What a subplan had to do in a run, and the rows that it wrote, beside those that were expected."""

    run: int
    subplan: int
    engine: str | None
    features: Mapping[str, float]
    rows_out: int
    expected_rows: float | None


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What a run took, how many runs ago it was, and what publishing its result took, if it did so."""

    run: int
    age: int
    from_scratch: bool
    work: float
    publishing_work: float | None
    expected_publishing_work: float | None


_MEASURED: Final = """
    SELECT m.features, m.work, m.elapsed, extract(epoch FROM e.started)::float8 AS at, m.engine,
        e.query_ids[1] || ' ' || m.subplan || ' ' || coalesce(p.digest, '') AS subplan
    FROM gavial.measurements m JOIN gavial.executions e ON e.id = m.execution
    LEFT JOIN gavial.plans p ON p.query_id = e.query_ids[1] AND p.planned <= e.started
    WHERE (m.features ->> 'jobs')::float8 > 0 AND m.engine IS NOT NULL AND NOT m.repeated
    ORDER BY m.execution DESC, m.subplan LIMIT %s
"""
_OWN: Final = """
    SELECT m.features, m.work, m.elapsed, extract(epoch FROM e.started)::float8 AS at, m.engine,
        m.subplan::text
    FROM gavial.plans p JOIN gavial.executions e ON e.query_ids = ARRAY[p.query_id] AND e.started >= p.planned
    JOIN gavial.measurements m ON m.execution = e.id
    WHERE p.query_id = %s AND (m.features ->> 'jobs')::float8 > 0 AND m.engine IS NOT NULL AND NOT m.repeated
    ORDER BY m.execution DESC, m.subplan LIMIT %s
"""
_RUNS: Final = """
    WITH runs AS (
        SELECT e.id AS run, row_number() OVER (ORDER BY e.id DESC)::int - 1 AS age, e.from_scratch,
               e.measured_work AS work, e.publishing_work, e.expected_publishing_work,
               row_number() OVER (PARTITION BY e.from_scratch ORDER BY e.id DESC) AS place
        FROM gavial.plans p
        JOIN gavial.executions e ON e.query_ids = ARRAY[p.query_id] AND e.started >= p.planned
        WHERE p.query_id = %s AND e.finished IS NOT NULL AND e.rows_in > 0
    )
    SELECT run, age, from_scratch, work, publishing_work, expected_publishing_work
    FROM runs WHERE place <= %s ORDER BY age
"""
_RUNS_OF_ALL: Final = """
    SELECT e.id AS run, row_number() OVER (ORDER BY e.id DESC)::int - 1 AS age, e.from_scratch,
           e.measured_work AS work, e.publishing_work, e.expected_publishing_work
    FROM gavial.executions e
    WHERE e.from_scratch = %s AND e.finished IS NOT NULL AND e.rows_in > 0 ORDER BY e.id DESC LIMIT %s
"""
_PARTS: Final = """
    SELECT execution AS run, subplan, engine, features, rows_out, expected_rows FROM gavial.measurements
    WHERE execution = ANY (%s) ORDER BY execution DESC, subplan
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
_MOST_RUNS: Final = 8
"""So many of the latest runs of each kind are read."""
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


def latest_runs(connection: Connection, query: UUID) -> tuple[MeasuredRun, ...]:
    """What the latest runs of a query under the plan that it has took, of either kind."""
    return rows_of(connection, MeasuredRun, _RUNS, (query, _MOST_RUNS))


def latest_runs_of_all(connection: Connection, from_scratch: bool) -> tuple[MeasuredRun, ...]:
    """What the latest runs of one kind took, of whatever query."""
    return rows_of(connection, MeasuredRun, _RUNS_OF_ALL, (from_scratch, _MOST_RUNS))


def parts_of(connection: Connection, runs: Iterable[MeasuredRun]) -> tuple[MeasuredPart, ...]:
    """What their parts had to do, as far as something was to be computed."""
    return rows_of(connection, MeasuredPart, _PARTS, ([run.run for run in runs],))


def rows_written(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """The rows each subplan wrote in the period so many periods ago; 0 is the one that is under way."""
    return mapping_of(connection, _WRITTEN, {"query": query, "ago": ago})


def firings(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """How often each path was run in that period; the run at the trigger is one of them."""
    return mapping_of(connection, _FIRINGS, {"query": query, "ago": ago})


def known_engines(connection: Connection) -> tuple[KnownEngine, ...]:
    """The engines that computed last, with the weights that were fitted."""
    return rows_of(
        connection,
        KnownEngine,
        "SELECT engine, weights, most_changed, most_read, most_bytes FROM gavial.engines",
    )


def save_engines(connection: Connection, engines: Sequence[KnownEngine]) -> None:
    """Record what is known of the engines from now on; of others nothing."""
    names = [engine.engine for engine in engines]
    connection.execute("DELETE FROM gavial.engines WHERE engine <> ALL (%s)", (names,))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.engines (engine, weights, most_changed, most_read, most_bytes) "
            "VALUES (%(engine)s, %(weights)s, %(most_changed)s, %(most_read)s, %(most_bytes)s) "
            "ON CONFLICT (engine) DO UPDATE SET weights = excluded.weights, fitted = now(), "
            "most_changed = excluded.most_changed, most_read = excluded.most_read, "
            "most_bytes = excluded.most_bytes",
            [{**named(engine), "weights": json.dumps(dict(engine.weights))} for engine in engines],
        )
