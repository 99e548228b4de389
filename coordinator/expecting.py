"""What a query's period is expected to bring: as its owner says, or by what came before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from psycopg import Connection

from catalog.paces import Period
from catalog.running import Running
from catalog.schema import Table, TableName
from coordinator.forecast import History, forecast
from coordinator.outlook import changed_rows, kind_of, scaled, stated
from coordinator.straying import expected_rows
from dialect.expectations import rows_expected
from planner.schedule import Arrivals

_HISTORY: Final = """
    SELECT a.relation::oid::int8, a.hour, a.rows FROM gavial.arrivals a
    WHERE a.relation::oid = ANY (%s::oid[]) AND a.hour > now() - interval '29 days'
"""
_KINDS: Final = """
    SELECT a.relation::oid::int8, sum(a.rows)::float8, sum(a.updates)::float8, sum(a.deletes)::float8
    FROM gavial.arrivals a
    WHERE a.relation::oid = ANY (%s::oid[]) AND a.hour > now() - interval '29 days' GROUP BY 1
"""
_FIRED: Final = """
    SELECT fired FROM gavial.triggers WHERE query_id = %s ORDER BY fired DESC LIMIT 21
"""
_SINCE: Final = """
    SELECT least(min(t.fired), (SELECT min(a.hour) + interval '1 hour' FROM gavial.arrivals a
                                WHERE a.relation::oid = ANY (%s::oid[]))), now()
    FROM gavial.triggers t WHERE t.query_id = %s
"""


def expected_arrivals(
    connection: Connection, query: Running, tables: Sequence[Table], period: Period
) -> Mapping[TableName, Arrivals]:
    """The arrivals expected from the last trigger to the next; none where nobody knows."""
    oids = [table.oid for table in tables]
    kinds = dict.fromkeys(oids, kind_of(0, 0, 0))
    kinds |= {oid: kind_of(*counts) for oid, *counts in connection.execute(_KINDS, (oids,))}
    said = rows_expected(query.options.get("EXPECT"), (table.name for table in tables))
    coming = _coming(connection, query, oids, period)
    arrivals = {}
    for table in tables:
        kind, oid = kinds[table.oid], table.oid
        rows = said.get(table.name)
        arrivals[table.name] = scaled(
            kind,
            expected_rows(
                period.came.get(oid, 0),
                coming.get(oid),
                None if rows is None else changed_rows(stated(kind, rows)),
                period.expected.get(oid, 0.0),
            ),
        )
    return arrivals


def _coming(
    connection: Connection, query: Running, oids: Sequence[int], period: Period
) -> Mapping[int, float]:
    """The rows expected from now on, by table; none where the trigger may fire at any time."""
    zone = ZoneInfo(query.settings.get("TimeZone", "UTC"))
    history, came = _history(connection, query, oids), sum(period.came.values())
    return forecast(query.options.get("TRIGGER", "on demand"), history, zone, came) or {}


def _history(connection: Connection, query: Running, oids: Sequence[int]) -> History:
    rows: dict[int, dict[datetime, int]] = {oid: {} for oid in oids}
    for oid, hour, count in connection.execute(_HISTORY, (oids,)):
        rows[oid][hour] = count
    fired = [row[0] for row in connection.execute(_FIRED, (query.id,))]
    since = connection.execute(_SINCE, (oids, query.id)).fetchone()
    assert since is not None
    began, now = since
    return History(rows, began or now, now, fired[::-1])
