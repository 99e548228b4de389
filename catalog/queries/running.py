"""Standing queries as the coordinator sees them when it runs them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg import Connection
from psycopg.sql import SQL

from catalog.errors import ConcurrentChange
from catalog.queries.awaited import AWAITED
from catalog.queries.computed import forget_batches_like
from catalog.rows import mapping_of, named, row_of, rows_of, value_of
from catalog.wording import sentences

_QUERIES: Final = """
    SELECT q.id, q.view::oid::int8, q.result::oid::int8, q.query_text AS text, q.options, q.settings,
           q.status, q.status_sqlstate AS sqlstate, q.status_detail AS detail,
           (q.position - '0/0')::int8 AS position,
           coalesce((SELECT max(t.fired) FROM gavial.triggers t WHERE t.query_id = q.id), q.position_time)
               AS fired,
           NOT EXISTS (SELECT FROM gavial.reads r LEFT JOIN gavial.sources s USING (relation)
                       WHERE r.query_id = q.id AND s.state IS DISTINCT FROM 'captured') AS captured,
           c.relpersistence = 'u' AS unlogged, n.nspname::text AS schema, c.relname::text AS name,
           pg_get_userbyid(c.relowner)::text AS owner, q.due,
           (SELECT min(gavial.sentence(format('table %s cannot be captured: %s', s.relation, s.detail)))
            FROM gavial.reads r JOIN gavial.sources s USING (relation)
            WHERE r.query_id = q.id AND s.state = 'stopped') AS stopped, q.columns_due,
           q.status_of_values AS of_values
    FROM gavial.queries q JOIN pg_class c ON c.oid = q.result JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT gavial.is_elsewhere()
    ORDER BY q.id
"""
_RUNS: Final = """
    SELECT id, query_id AS query, kind, compared_with, (target - '0/0')::int8 AS target,
           coalesce(asked_in::text, id::text) AS statement,
           EXISTS (SELECT FROM gavial.reads r JOIN gavial.sources s USING (relation)
                   WHERE r.query_id = runs.query_id AND s.state = 'stopped' AND s.attempted >= runs.asked)
               AS tried
    FROM gavial.runs
    WHERE state IN ('waiting', 'running') AND {awaited} ORDER BY asked, id
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A standing query: what it is called, what it is made of and how it stands.

    `due`: when its trigger fires next, or fired, as far as that is written down.
    `position`: of its result, if it has one. `captured`: everything that it reads is in the warehouse.
    `unlogged`: a crash of the server empties its result. `stopped`: why a table that it reads is not captured
    for the time being, if one is not. `columns_due`: its table lacks columns, which come with the next
    result. `of_values`: what is in error are values.
    """

    id: UUID
    view: int
    result: int
    text: str
    options: Mapping[str, Any]
    settings: Mapping[str, str]
    status: str
    sqlstate: str | None
    detail: str | None
    position: int | None
    fired: datetime | None
    captured: bool
    unlogged: bool
    schema: str
    name: str
    owner: str
    due: datetime | None = None
    stopped: str | None = None
    columns_due: bool = False
    of_values: bool = False

    @property
    def has_result(self) -> bool:
        """Whether a result has been published."""
        return self.position is not None

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Run:
    """A REFRESH or VERIFY that a client waits for: the result has to include everything up to `target`.

    Runs that were asked for at once, by one REFRESH of several queries, have the same `statement`. `tried`: a
    table that is not captured for the time being was tried again since, in vain. `compared_with`: what a
    VERIFY says, postgres or spark.
    """

    id: UUID
    query: UUID
    kind: str
    target: int
    statement: str
    tried: bool = False
    compared_with: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as clients are told it; `of_values`: values of rows cause it, and nothing else."""

    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    of_values: bool = False

    def __str__(self) -> str:
        return sentences(self.message, self.detail, self.hint)


@dataclass(frozen=True, slots=True)
class Offset:
    """How far a subplan has read a buffer; of the buffer that it writes: what it wrote last."""

    subplan: int
    buffer: str
    position: int


def has_queries(connection: Connection) -> bool:
    """Whether there are standing queries in the database."""
    return connection.execute("SELECT FROM gavial.queries LIMIT 1").rowcount > 0


def running_queries(connection: Connection) -> tuple[Running, ...]:
    """All standing queries of the database, but none where the database is a copy of another."""
    return rows_of(connection, Running, _QUERIES)


def waiting_runs(connection: Connection) -> tuple[Run, ...]:
    """What clients wait for, in the order in which they asked; none of a client that is gone."""
    return rows_of(connection, Run, _RUNS.format(awaited=AWAITED))


def offsets(connection: Connection, query: UUID) -> tuple[Offset, ...]:
    """The positions up to which the subplans of a query have read their buffers."""
    read = "SELECT subplan, buffer, position FROM gavial.offsets WHERE query_id = %s ORDER BY 1, 2"
    return rows_of(connection, Offset, read, (query,))


def save_offsets(connection: Connection, query: UUID, offsets: Iterable[Offset]) -> None:
    """Record the positions up to which the subplans have read."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.offsets (query_id, subplan, buffer, position) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (query_id, subplan, buffer) DO UPDATE SET position = excluded.position",
            [(query, offset.subplan, offset.buffer, offset.position) for offset in offsets],
        )


def forget_offset(connection: Connection, query: UUID, subplan: int, buffer: str) -> None:
    """Forget how far a subplan has read a buffer."""
    connection.execute(
        "DELETE FROM gavial.offsets WHERE query_id = %s AND subplan = %s AND buffer = %s",
        (query, subplan, buffer),
    )


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """Fingerprint of the plan that a query is computed by, and the statistics that it rests on, as JSON."""

    digest: str
    statistics: Any


def plan_of(connection: Connection, query: UUID) -> SavedPlan | None:
    """The plan that a query is computed by; None before there is one."""
    question = "SELECT digest, statistics FROM gavial.plans WHERE query_id = %s"
    return row_of(connection, SavedPlan, question, (query,))


def save_plan(
    connection: Connection, query: UUID, digest: str, statistics: object, node_buffers: str
) -> list[str]:
    """Begin from scratch under a plan, and forget another one with what it computed; the files of that.

    `node_buffers` is the pattern of the names of the query's own buffers.
    """
    for relation in (SQL("offsets"), SQL("subplans"), SQL("paths")):
        connection.execute(SQL("DELETE FROM gavial.{} WHERE query_id = %s").format(relation), (query,))
    files = forget_batches_like(connection, node_buffers)
    connection.execute(
        "INSERT INTO gavial.plans (query_id, digest, statistics) VALUES (%s, %s, %s) "
        "ON CONFLICT (query_id) DO UPDATE SET digest = excluded.digest, statistics = excluded.statistics, "
        "planned = now()",
        (query, digest, json.dumps(statistics)),
    )
    return files


_AS_IT_WAS: Final = """
    SELECT id FROM gavial.queries
    WHERE id = %(id)s AND view::oid = %(view)s::oid AND query_text = %(text)s AND status = %(status)s
        AND status_sqlstate IS NOT DISTINCT FROM %(sqlstate)s
    FOR NO KEY UPDATE SKIP LOCKED
"""


def lock_query(connection: Connection, query: UUID) -> None:
    """Lock the row of a query before rows that refer to it: who drops the query locks them in that order.

    It waits for nobody. The lock leaves the key alone, so that REFRESH can be asked for meanwhile.
    """
    locked = connection.execute(
        "SELECT FROM gavial.queries WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED", (query,)
    )
    if locked.rowcount == 0:
        raise ConcurrentChange("the standing query is being dropped or altered")


def hold_query(connection: Connection, query: Running) -> bool:
    """Keep a query as it is until the transaction ends, and what it reads captured; False if that is not so.

    Raises what PostgreSQL says where its owner may not read any more what it reads, or its result has no
    guard.
    """
    held = connection.execute(
        f"WITH held AS MATERIALIZED ({_AS_IT_WAS}) "
        "SELECT gavial.check_readable(q.view::oid), gavial.check_answer(q.view::oid, q.result::oid) "
        "FROM held JOIN gavial.queries q USING (id) WHERE gavial.hold_sources(q.id)",
        named(query),
    )
    return held.rowcount > 0


def require_copied_before(connection: Connection, query: UUID, position: int) -> None:
    """Raise ConcurrentChange if a query's table was copied again behind the position: it is empty there."""
    copied = connection.execute(
        "SELECT FROM gavial.reads r JOIN gavial.sources s USING (relation) "
        "WHERE r.query_id = %s AND s.captured_from > '0/0'::pg_lsn + %s::numeric",
        (query, position),
    )
    if copied.rowcount:
        raise ConcurrentChange("a table that the standing query reads was copied again")


def tables_of(connection: Connection, query: UUID) -> str:
    """What is taken for granted of the tables of a query: columns, keys, and the copies that are followed."""
    described = value_of(
        connection,
        "SELECT coalesce(string_agg(concat(gavial.relation(relation), captured_from, wide), '' "
        "ORDER BY relation), '') "
        "FROM gavial.reads LEFT JOIN gavial.sources USING (relation) WHERE query_id = %s",
        (query,),
    )
    return str(described)


def save_differences(connection: Connection, run: UUID, differences: Iterable[tuple[str, str, int]]) -> None:
    """What a verification found: side, row as text, how many."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gavial.differences (run_id, side, row_text, rows) VALUES (%s, %s, %s, %s)",
            [(run, *difference) for difference in differences],
        )


def fail_query(connection: Connection, query: Running, status: str, failure: Failure) -> bool:
    """Say that a query failed; False if somebody has changed it meanwhile, or is about to."""
    failed = connection.execute(
        f"WITH held AS MATERIALIZED ({_AS_IT_WAS}) "
        "UPDATE gavial.queries q SET status = %(now)s, status_sqlstate = %(why)s, status_detail = %(words)s, "
        "status_of_values = %(values)s FROM held WHERE q.id = held.id",
        {
            **named(query),
            "now": status,
            "why": failure.sqlstate,
            "words": str(failure),
            "values": failure.of_values,
        },
    )
    return failed.rowcount > 0


def rows_behind(connection: Connection, positions: Mapping[str, int]) -> int:
    """How many changed rows there are in these buffers, each behind its position."""
    rows = value_of(
        connection,
        "SELECT coalesce(sum(b.rows), 0)::int8 FROM jsonb_each_text(%s) p "
        "JOIN gavial.batches b ON b.buffer = p.key AND b.to_offset > p.value::int8",
        (json.dumps(positions),),
    )
    return int(rows)


def last_changes(connection: Connection, queries: Collection[UUID]) -> Mapping[UUID, int]:
    """Up to where the tables that these queries read have changes in the warehouse."""
    if not queries:
        return {}
    return mapping_of(
        connection,
        "SELECT r.query_id AS key, max(b.to_offset)::int8 AS value FROM gavial.reads r "
        "JOIN gavial.batches b ON b.buffer = 'table-' || r.relation::oid "
        "WHERE r.query_id = ANY (%s) GROUP BY r.query_id",
        (list(queries),),
    )


def is_wanted(connection: Connection, query: Running) -> bool:
    """Whether a query is still what it was when its run began."""
    cursor = connection.execute(
        "SELECT FROM gavial.queries WHERE id = %s AND query_text = %s AND status = %s",
        (query.id, query.text, query.status),
    )
    return cursor.rowcount > 0


def note_due(connection: Connection, moments: Mapping[UUID, datetime | None]) -> None:
    """Write down when triggers fire next, or fired; nobody is waited for."""
    connection.execute(
        "WITH free AS (SELECT q.id FROM gavial.queries q WHERE q.id = ANY (%(queries)s) "
        "FOR NO KEY UPDATE SKIP LOCKED) "
        "UPDATE gavial.queries q SET due = m.due FROM free "
        "JOIN unnest(%(queries)s::uuid[], %(moments)s::timestamptz[]) AS m (id, due) USING (id) "
        "WHERE q.id = free.id",
        {"queries": list(moments), "moments": list(moments.values())},
    )


def set_position(connection: Connection, query: UUID, position: int) -> None:
    """A result is published: exact at this position."""
    connection.execute(
        "UPDATE gavial.queries SET position = '0/0'::pg_lsn + %s::numeric, "
        "position_time = (SELECT position_time FROM gavial.capture), "
        "status = 'active', status_sqlstate = NULL, status_detail = NULL, due = NULL, columns_due = false "
        "WHERE id = %s",
        (position, query),
    )


def forget_history(connection: Connection) -> None:
    """What is told of the past is told for a month; of statements that waited, for a day.

    The latest trigger of a query stays: the next one is reckoned from it, however long ago it was.
    """
    connection.execute("DELETE FROM gavial.executions WHERE started < now() - interval '30 days'")
    connection.execute(
        "DELETE FROM gavial.triggers t WHERE t.fired < now() - interval '30 days' AND EXISTS "
        "(SELECT FROM gavial.triggers later WHERE later.query_id = t.query_id AND later.fired > t.fired)"
    )
    connection.execute("DELETE FROM gavial.runs WHERE asked < now() - interval '1 day'")
