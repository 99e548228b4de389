"""What people ask about standing queries and their server; for the `gavial` command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from catalog.rows import row_of, rows_of, value_of


@dataclass(frozen=True, slots=True)
class QueryOverview:
    """A standing query at a glance; shares are of the batch's work."""

    schema: str
    name: str
    owner: str
    status: str
    detail: str | None
    trigger: str
    last_result: datetime | None
    next_trigger: datetime | None
    late_by: timedelta | None
    goal: float | None
    latency_goal: str | None
    measured_final_work: float | None
    predicted_final_work: float | None
    goal_reachable: bool | None
    position: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a query: what it computes and reads, how often and why."""

    subplan: int
    text: str
    method: str
    reads: str | None
    pace: int | None
    predicted_work: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Fired:
    """A trigger of a query: what was owed, expected and measured. Work is in seconds of a processor."""

    fired: datetime
    goal: float | None
    predicted_final_work: float | None
    measured_final_work: float | None
    met: bool | None
    seconds: float | None
    batch_work: float | None
    total_work: float | None
    position: str


@dataclass(frozen=True, slots=True)
class KeptState:
    """Rows that are kept to be looked up, and for which query; none of a table, which is all queries'."""

    query: str | None
    state: str
    key: list[str]
    kept: bool
    why: str | None
    rows: int | None
    bytes: int | None
    predicted_bytes: int | None
    uses: int | None
    last_used: datetime | None


@dataclass(frozen=True, slots=True)
class ServerOverview:
    """What there is behind a connection, and how far its changes are followed; sizes in bytes."""

    version: str
    installed: str | None
    server_version: str
    database: str
    login: str
    coordinator: int | None
    capture: str
    detail: str | None
    captured_until: datetime | None
    behind_bytes: int | None
    slot: str | None
    capture_login: str | None
    retained_wal: int | None
    max_wal: int | None
    tables: int
    stopped_tables: int
    queries: Mapping[str, int]
    late: int
    under_way: int
    clock: datetime


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A run that has not ended, or a statement that waits for one."""

    query: str
    kind: str
    began: datetime
    progress: str | None


@dataclass(frozen=True, slots=True)
class RecentWork:
    """What the runs of a query took in the last hour."""

    query: str
    runs: int
    rows: int
    work: float
    engines: str | None
    last_seconds: float | None


_QUERIES: Final = """
    SELECT s.schema_name AS schema, s.name, s.owner, s.status,
        gavial.detail_of_status(s.status, s.status_detail, s.position) AS detail,
        coalesce(s.options ->> 'TRIGGER', 'on demand') AS trigger, s.position_time AS last_result,
        s.due AS next_trigger, s.lag_own AS late_by, s.goal, s.options ->> 'LATENCY_GOAL' AS latency_goal,
        s.measured_final_work, s.predicted_final_work, s.goal_reachable, s.position::text
    FROM gavial.standing_queries s WHERE %(table)s::oid IS NULL OR s.table_oid = %(table)s ORDER BY 1, 2
"""
_DESCRIBED: Final = """
    SELECT s.query_text AS text, s.options, s.settings ->> 'search_path' AS search_path
    FROM gavial.standing_queries s WHERE s.table_oid = %s
"""
_PARTS: Final = """
    SELECT u.subplan, u.text, u.method, p.reads, p.pace, p.predicted_work, p.reason
    FROM gavial.standing_queries s JOIN gavial.subplans u ON u.query_id = s.id
    LEFT JOIN gavial.paths p ON p.query_id = s.id AND p.subplan = u.subplan
    WHERE s.table_oid = %s ORDER BY u.subplan DESC, p.path
"""
_HISTORY: Final = """
    SELECT t.fired, t.goal, t.predicted_final_work, t.measured_final_work, t.met, t.final_seconds AS seconds,
        t.batch_work, t.total_work, t.position::text
    FROM gavial.triggers t JOIN gavial.standing_queries s ON s.id = t.query_id
    WHERE s.table_oid = %s ORDER BY t.fired DESC LIMIT %s
"""
_STATES: Final = """
    SELECT s.table_oid::regclass::text AS query, a.state, a.key, a.kept, a.why, a.rows, a.bytes,
        a.predicted_bytes, a.uses, a.last_used
    FROM gavial.states a LEFT JOIN gavial.standing_queries s ON s.id = a.query_id
    ORDER BY a.bytes DESC NULLS LAST, query NULLS FIRST, a.state, a.key
"""
_SERVER: Final = """
    WITH queries AS (
        SELECT s.status, count(*) AS number, count(*) FILTER (WHERE s.lag_own > interval '0') AS late
        FROM gavial.standing_queries s GROUP BY s.status
    )
    SELECT %s AS version, (SELECT i.version FROM gavial.installation i) AS installed,
        split_part(current_setting('server_version'), ' ', 1) AS server_version,
        current_database()::text AS database, current_user::text AS login,
        (SELECT max(c.process) FROM gavial.coordinator() c) AS coordinator,
        coalesce(c.state, 'stopped') AS capture, c.detail, c.position_time AS captured_until,
        CASE WHEN c.position > '0/0' AND NOT pg_is_in_recovery()
             THEN greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), c.position), 0)::int8 END AS behind_bytes,
        c.slot, c.login AS capture_login, c.retained_wal, c.max_wal,
        (SELECT count(*) FROM gavial.sources) AS tables,
        (SELECT count(*) FROM gavial.sources s WHERE s.state = 'stopped') AS stopped_tables,
        (SELECT coalesce(jsonb_object_agg(q.status, q.number), '{}') FROM queries q) AS queries,
        (SELECT coalesce(sum(q.late), 0)::int8 FROM queries q) AS late,
        (SELECT count(*) FROM gavial.executions e
         WHERE e.finished IS NULL AND e.started > now() - interval '1 day') AS under_way,
        clock_timestamp() AS clock
    FROM (VALUES (1)) AS one LEFT JOIN gavial.capture c ON true
"""
_UNDER_WAY: Final = """
    SELECT s.table_oid::regclass::text AS query, 'run' AS kind, e.started AS began, e.progress
    FROM gavial.executions e JOIN gavial.standing_queries s ON s.id = ANY (e.query_ids)
    WHERE e.finished IS NULL AND e.id > (
        SELECT coalesce(max(f.id), 0) FROM gavial.executions f
        WHERE f.query_ids = e.query_ids AND f.finished IS NOT NULL)
    UNION ALL
    SELECT s.table_oid::regclass::text, a.state, a.asked, a.progress
    FROM gavial.awaited a JOIN gavial.standing_queries s ON s.id = a.query_id
    WHERE a.state IN ('waiting', 'running') ORDER BY began
"""
_RECENT: Final = """
    SELECT s.table_oid::regclass::text AS query, count(*) AS runs, coalesce(sum(e.rows_in), 0)::int8 AS rows,
        coalesce(sum(e.measured_work), 0)::float8 AS work, string_agg(DISTINCT e.engine, ', ') AS engines,
        (array_agg(e.wall_seconds ORDER BY e.id DESC))[1] AS last_seconds
    FROM gavial.executions e JOIN gavial.standing_queries s ON s.id = ANY (e.query_ids)
    WHERE e.finished > now() - interval '1 hour' GROUP BY s.table_oid ORDER BY work DESC, query
"""


def version_of(connection: Connection) -> str | None:
    """The version of the Gavial that answers; it makes the schema where there is none. None: a PostgreSQL."""
    try:
        return str(value_of(connection, "SHOW gavial.version"))
    except psycopg.errors.UndefinedObject:
        return None


def quoted_name(connection: Connection, name: str) -> Identifier:
    """A name as statements write it, as PostgreSQL reads it: folded, unless it is in quotes."""
    return Identifier(*value_of(connection, "SELECT parse_ident(%s)", (name,)))


def table_of(connection: Connection, name: str) -> int:
    """The table of a standing query; the server's own error if there is none of the name."""
    identifier = quoted_name(connection, name)
    value_of(connection, SQL("SHOW STANDING QUERY {}").format(identifier))
    return int(value_of(connection, "SELECT %s::regclass::oid::int8", (identifier.as_string(connection),)))


def queries(connection: Connection, table: int | None = None) -> tuple[QueryOverview, ...]:
    """All standing queries of the database, or the one with this table, by their names."""
    return rows_of(connection, QueryOverview, _QUERIES, {"table": table})


def described(connection: Connection, table: int) -> Mapping[str, Any]:
    """The text, the options and the search path that a query was made with."""
    return rows_of(connection, dict, _DESCRIBED, (table,))[0]


def parts(connection: Connection, table: int) -> tuple[Part, ...]:
    """The parts of a query from the result down, once for each path."""
    return rows_of(connection, Part, _PARTS, (table,))


def history(connection: Connection, table: int, most: int) -> tuple[Fired, ...]:
    """The latest triggers of a query, the last one first."""
    return rows_of(connection, Fired, _HISTORY, (table, most))


def states(connection: Connection) -> tuple[KeptState, ...]:
    """What is kept to be looked up, the largest first."""
    return rows_of(connection, KeptState, _STATES)


def server_overview(connection: Connection) -> ServerOverview:
    """The server, the database and the capture of its changes."""
    overview = row_of(connection, ServerOverview, _SERVER, (version_of(connection),))
    assert overview is not None
    return overview


def under_way(connection: Connection) -> tuple[UnderWay, ...]:
    """What is being computed, and waited for."""
    return rows_of(connection, UnderWay, _UNDER_WAY)


def recent_work(connection: Connection) -> tuple[RecentWork, ...]:
    """The queries whose runs ended in the last hour, those that took most first."""
    return rows_of(connection, RecentWork, _RECENT)
