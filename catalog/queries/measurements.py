"""What firings took, and what the cost model learned from it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.queries.measured import Measured
from catalog.rows import mapping_of, named, rows_of


@dataclass(frozen=True, slots=True)
class KnownEngine:
    """An engine, its weights by feature, and the rows that a firing may have at most; None: no bound."""

    engine: str
    weights: Mapping[str, float]
    most_changed: float | None
    most_read: float | None


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """What a subplan had to do in a run; `run_work` is what all of the run took."""

    run: int
    from_scratch: bool
    run_work: float
    subplan: int
    engine: str
    features: Mapping[str, float]


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
        SELECT e.id, e.from_scratch, e.measured_work,
               row_number() OVER (PARTITION BY e.from_scratch ORDER BY e.id DESC) AS place
        FROM gavial.plans p
        JOIN gavial.executions e ON e.query_ids = ARRAY[p.query_id] AND e.started >= p.planned
        WHERE p.query_id = %s AND e.finished IS NOT NULL AND e.rows_in > 0
    )
    SELECT r.id AS run, r.from_scratch, r.measured_work AS run_work, m.subplan, m.engine, m.features
    FROM runs r JOIN gavial.measurements m ON m.execution = r.id
    WHERE r.place <= %s AND m.engine IS NOT NULL ORDER BY r.id DESC, m.subplan
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
_MOST_RUNS: Final = 5
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


def latest_runs(connection: Connection, query: UUID) -> tuple[MeasuredPart, ...]:
    """What the latest runs of a query under the plan that it has took, part by part."""
    return rows_of(connection, MeasuredPart, _RUNS, (query, _MOST_RUNS))


def rows_written(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """The rows each subplan wrote in the period so many periods ago; 0 is the one that is under way."""
    return mapping_of(connection, _WRITTEN, {"query": query, "ago": ago})


def firings(connection: Connection, query: UUID, ago: int) -> Mapping[int, int]:
    """How often each path was run in that period; the run at the trigger is one of them."""
    return mapping_of(connection, _FIRINGS, {"query": query, "ago": ago})


def known_engines(connection: Connection) -> tuple[KnownEngine, ...]:
    """The engines that computed last, with the weights that were fitted."""
    return rows_of(
        connection, KnownEngine, "SELECT engine, weights, most_changed, most_read FROM gavial.engines"
    )


def save_engines(connection: Connection, engines: Sequence[KnownEngine]) -> None:
    """Record what is known of the engines from now on; of others nothing."""
    names = [engine.engine for engine in engines]
    connection.execute("DELETE FROM gavial.engines WHERE engine <> ALL (%s)", (names,))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.engines (engine, weights, most_changed, most_read) "
            "VALUES (%(engine)s, %(weights)s, %(most_changed)s, %(most_read)s) "
            "ON CONFLICT (engine) DO UPDATE SET weights = excluded.weights, fitted = now(), "
            "most_changed = excluded.most_changed, most_read = excluded.most_read",
            [{**named(engine), "weights": json.dumps(dict(engine.weights))} for engine in engines],
        )
