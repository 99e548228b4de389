"""The rows that a query's period is expected to bring: as its owner says, or as forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from psycopg import Connection

from catalog.capture.arrivals import known_time, rows_by_hour, rows_by_kind
from catalog.postgres.schema import Table, TableName
from catalog.queries.executions import triggers_fired
from catalog.queries.paces import Period
from catalog.queries.running import Running
from coordinator.decide.drift import expected_rows
from coordinator.decide.forecast import History, forecast
from coordinator.planning.period_estimate import changed_rows, kind_of, scaled, stated
from dialect.statements.expectations import rows_expected
from planner.pace.schedule import Arrivals

_MOST_TRIGGERS: Final = 21
"""The usual length of a period is taken from this many of the latest triggers."""


def expected_arrivals(
    connection: Connection, query: Running, tables: Sequence[Table], period: Period
) -> Mapping[TableName, Arrivals]:
    """The arrivals expected from the last trigger to the next; none if unknown."""
    oids = [table.oid for table in tables]
    kinds = dict.fromkeys(oids, kind_of(0, 0, 0))
    kinds |= {
        arrived.relation: kind_of(arrived.rows, arrived.updates, arrived.deletes)
        for arrived in rows_by_kind(connection, oids)
    }
    said = rows_expected(query.options.get("EXPECT"), (table.name for table in tables))
    coming = _coming(connection, query, oids, period)
    arrivals = {}
    for table in tables:
        kind, oid = kinds[table.oid], table.oid
        rows = said.get(table.name)
        arrivals[table.name] = scaled(
            kind,
            expected_rows(
                period.arrived.get(oid, 0),
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
    history, arrived = _history(connection, query, oids), sum(period.arrived.values())
    return forecast(query.options.get("TRIGGER", "on demand"), history, zone, arrived) or {}


def _history(connection: Connection, query: Running, oids: Sequence[int]) -> History:
    rows: dict[int, dict[datetime, int]] = {oid: {} for oid in oids}
    for arrived in rows_by_hour(connection, oids):
        rows[arrived.relation][arrived.hour] = arrived.rows
    fired = triggers_fired(connection, query.id, _MOST_TRIGGERS)
    known = known_time(connection, query.id, oids)
    return History(rows, known.since or known.now, known.now, fired)
