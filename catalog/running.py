"""Standing queries as those see them that run them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

_QUERIES: Final = """
    SELECT q.id, q.view::oid::int8, q.result::oid::int8, q.query_text, q.options, q.settings, q.status,
           q.position IS NOT NULL,
           n.nspname::text, c.relname::text
    FROM gavial.queries q JOIN pg_class c ON c.oid = q.result JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT gavial.is_elsewhere()
    ORDER BY q.id
"""
_RUNS: Final = """
    SELECT id, query_id, kind, (target - '0/0')::int8 FROM gavial.runs
    WHERE state IN ('waiting', 'running') ORDER BY asked, id
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A standing query: what it is called, what it is made of and how it stands."""

    id: UUID
    view: int
    result: int
    text: str
    options: Mapping[str, Any]
    settings: Mapping[str, str]
    status: str
    answered: bool
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class Run:
    """A REFRESH or VERIFY that a client waits for: the answer has to include everything up to `target`."""

    id: UUID
    query: UUID
    kind: str
    target: int


@dataclass(frozen=True, slots=True)
class Offset:
    """How far a subplan has read a buffer; of the buffer that it writes: what it wrote last."""

    subplan: int
    buffer: str
    position: int


def running_queries(connection: Connection) -> tuple[Running, ...]:
    """All standing queries of the database, none of a copy."""
    return tuple(Running(*row) for row in connection.execute(_QUERIES))


def waiting_runs(connection: Connection) -> tuple[Run, ...]:
    """What clients wait for, in the order in which they asked."""
    return tuple(Run(*row) for row in connection.execute(_RUNS))


def offsets(connection: Connection, query: UUID) -> tuple[Offset, ...]:
    """How far the subplans of a query have come."""
    found = connection.execute(
        "SELECT subplan, buffer, position FROM gavial.offsets WHERE query_id = %s ORDER BY 1, 2", (query,)
    )
    return tuple(Offset(*row) for row in found)


def save_offsets(connection: Connection, query: UUID, offsets: Iterable[Offset]) -> None:
    """Move the subplans on."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.offsets (query_id, subplan, buffer, position) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (query_id, subplan, buffer) DO UPDATE SET position = excluded.position",
            [(query, each.subplan, each.buffer, each.position) for each in offsets],
        )


def plan_of(connection: Connection, query: UUID) -> tuple[str, Any] | None:
    """Fingerprint of the plan that a query is worked by, and the statistics that it rests on."""
    row = connection.execute(
        "SELECT digest, statistics FROM gavial.plans WHERE query_id = %s", (query,)
    ).fetchone()
    return None if row is None else (row[0], row[1])


def save_plan(
    connection: Connection, query: UUID, digest: str, statistics: object, node_buffers: str
) -> None:
    """Begin anew under a plan: what was computed under another one is forgotten.

    `node_buffers` is the pattern of the names of the query's own buffers.
    """
    connection.execute("DELETE FROM gavial.offsets WHERE query_id = %s", (query,))
    connection.execute("DELETE FROM gavial.batches WHERE buffer LIKE %s", (node_buffers,))
    connection.execute(
        "INSERT INTO gavial.plans (query_id, digest, statistics) VALUES (%s, %s, %s) "
        "ON CONFLICT (query_id) DO UPDATE SET digest = excluded.digest, statistics = excluded.statistics, "
        "planned = now()",
        (query, digest, json.dumps(statistics)),
    )


def hold_query(connection: Connection, query: Running) -> bool:
    """Keep a query as it is until the transaction ends; False if it was replaced or dropped meanwhile.

    Raises what PostgreSQL says where its owner may not read any more what it reads.
    """
    held = connection.execute(
        "SELECT gavial.check_readable(view::oid), gavial.check_answer(view::oid, result::oid) "
        "FROM gavial.queries "
        "WHERE id = %s AND query_text = %s AND (status = %s OR status = 'error') FOR UPDATE",
        (query.id, query.text, query.status),
    )
    return held.rowcount > 0


def save_differences(connection: Connection, run: UUID, found: Iterable[tuple[str, str, int]]) -> None:
    """What a verification found: side, row as text, how many."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.differences (run_id, side, row_text, rows) VALUES (%s, %s, %s, %s)",
            [(run, *each) for each in found],
        )


def begin_execution(connection: Connection, query: UUID, paths: Iterable[int]) -> int:
    """A firing begins; its number."""
    row = connection.execute(
        "INSERT INTO gavial.executions (query_ids, paths, started, engine) "
        "VALUES (%s, %s, clock_timestamp(), 'spark') RETURNING id",
        ([query], list(paths)),
    ).fetchone()
    assert row is not None
    return int(row[0])


def end_execution(connection: Connection, number: int, rows_in: int, rows_out: int, jobs: int) -> None:
    """A firing is committed."""
    connection.execute(
        "UPDATE gavial.executions SET finished = clock_timestamp(), rows_in = %s, rows_out = %s, jobs = %s, "
        "wall_seconds = extract(epoch FROM clock_timestamp() - started) WHERE id = %s",
        (rows_in, rows_out, jobs, number),
    )


def record_trigger(connection: Connection, query: UUID, position: int, seconds: float) -> None:
    """An answer is published."""
    connection.execute(
        "INSERT INTO gavial.triggers (query_id, fired, position, goal, final_seconds) "
        "SELECT id, clock_timestamp(), '0/0'::pg_lsn + %s::numeric, (options ->> 'FINAL_WORK')::float8, %s "
        "FROM gavial.queries WHERE id = %s",
        (position, seconds, query),
    )


def set_status(
    connection: Connection, query: UUID, status: str, sqlstate: str | None = None, detail: str | None = None
) -> None:
    """Say how a query stands."""
    connection.execute(
        "UPDATE gavial.queries SET status = %s, status_sqlstate = %s, status_detail = %s "
        "WHERE id = %s AND (status, status_sqlstate, status_detail) IS DISTINCT FROM (%s, %s, %s)",
        (status, sqlstate, detail, query, status, sqlstate, detail),
    )


def set_position(connection: Connection, query: UUID, position: int) -> None:
    """An answer is published: exact at this position."""
    connection.execute(
        "UPDATE gavial.queries SET position = '0/0'::pg_lsn + %s::numeric, "
        "position_time = (SELECT position_time FROM gavial.capture), "
        "status = 'active', status_sqlstate = NULL, status_detail = NULL WHERE id = %s",
        (position, query),
    )


def finish_run(
    connection: Connection, run: UUID, position: int | None, failure: Mapping[str, str | None]
) -> None:
    """Tell a waiting client how its statement ended; `failure` is empty where it did well."""
    connection.execute(
        "UPDATE gavial.runs SET state = %s, position = '0/0'::pg_lsn + %s::numeric, "
        "sqlstate = %s, message = %s, detail = %s, hint = %s, progress = NULL WHERE id = %s",
        (
            "failed" if failure else "done",
            position,
            *(failure.get(each) for each in ("sqlstate", "message", "detail", "hint")),
            run,
        ),
    )
