"""What a query's period is expected to bring: as its owner says, or by what came before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from psycopg import Connection

from catalog.running import Running
from catalog.schema import Table, TableName
from coordinator.forecast import History, forecast
from coordinator.outlook import scaled
from dialect.expectations import rows_expected
from planner.schedule import Arrivals

_HISTORY: Final = """
    SELECT a.relation::oid::int8, a.hour, a.rows FROM gavial.arrivals a
    WHERE a.relation::oid = ANY (%s::oid[]) AND a.hour > now() - interval '29 days'
"""
_FIRED: Final = """
    SELECT fired FROM gavial.triggers WHERE query_id = %s ORDER BY fired DESC LIMIT 21
"""
_SINCE: Final = """
    SELECT least(min(t.fired), (SELECT min(a.hour) + interval '1 hour' FROM gavial.arrivals a
                                WHERE a.relation::oid = ANY (%s::oid[]))), now()
    FROM gavial.triggers t WHERE t.query_id = %s
"""
_CHANGED: Final = """
    SELECT t.oid::int8, sum(pg_stat_get_tuples_inserted(p.relid))::float8,
        sum(pg_stat_get_tuples_updated(p.relid))::float8, sum(pg_stat_get_tuples_deleted(p.relid))::float8
    FROM unnest(%s::oid[]) t (oid), pg_partition_tree(t.oid) p WHERE p.isleaf GROUP BY t.oid
"""


class Expecting:
    """Remembers how tables changed when they were first seen: what came since tells the kinds of changes."""

    def __init__(self) -> None:
        self._first: dict[int, Arrivals] = {}

    def arrivals(
        self, connection: Connection, query: Running, tables: Sequence[Table]
    ) -> Mapping[TableName, Arrivals]:
        """Until the next trigger; nothing where nobody knows."""
        oids = [each.oid for each in tables]
        kinds = self._kinds(connection, oids)
        zone = ZoneInfo(query.settings.get("TimeZone", "UTC"))
        history = _history(connection, query, oids)
        rows = forecast(query.options.get("TRIGGER", "on demand"), history, zone) or {}
        found = {each.name: scaled(kinds[each.oid], rows.get(each.oid, 0.0)) for each in tables}
        return {**found, **_stated(query, tables, kinds)}

    def _kinds(self, connection: Connection, oids: Sequence[int]) -> Mapping[int, Arrivals]:
        kinds = dict.fromkeys(oids, Arrivals(1.0))
        for oid, *counts in connection.execute(_CHANGED, (oids,)):
            now = Arrivals(*counts)
            first = self._first.setdefault(oid, now)
            since = Arrivals(
                max(now.inserts - first.inserts, 0.0),
                max(now.updates - first.updates, 0.0),
                max(now.deletes - first.deletes, 0.0),
            )
            kinds[oid] = since if any((since.inserts, since.updates, since.deletes)) else kinds[oid]
        return kinds


def _stated(
    query: Running, tables: Iterable[Table], kinds: Mapping[int, Arrivals]
) -> Mapping[TableName, Arrivals]:
    """What EXPECT says: an update is one row there."""
    by_name = {each.name: kinds[each.oid] for each in tables}
    stated = {}
    for name, rows in rows_expected(query.options.get("EXPECT"), by_name).items():
        kind = by_name[name]
        factor = rows / (kind.inserts + kind.updates + kind.deletes)
        stated[name] = Arrivals(kind.inserts * factor, kind.updates * factor, kind.deletes * factor)
    return stated


def _history(connection: Connection, query: Running, oids: Sequence[int]) -> History:
    rows: dict[int, dict[datetime, int]] = {oid: {} for oid in oids}
    for oid, hour, count in connection.execute(_HISTORY, (oids,)):
        rows[oid][hour] = count
    fired = [row[0] for row in connection.execute(_FIRED, (query.id,))]
    since = connection.execute(_SINCE, (oids, query.id)).fetchone()
    assert since is not None
    began, now = since
    return History(rows, began or now, now, fired[::-1])
