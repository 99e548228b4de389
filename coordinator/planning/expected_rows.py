"""The rows that a query's period is expected to bring, as its owner says or as forecast: pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from catalog.capture.arrivals import KnownArrivals
from catalog.postgres.schema import TableName
from catalog.queries.paces import Period
from coordinator.decide.drift import expected_rows
from coordinator.decide.forecast import History, forecast
from coordinator.planning.period_estimate import as_stated, kind_of
from dialect.statements.expectations import rows_expected
from planner.pace.schedule import Arrivals


def expected_arrivals(
    tables: Mapping[TableName, int],
    options: Mapping[str, Any],
    zone: str,
    known: KnownArrivals,
    period: Period,
) -> Mapping[TableName, Arrivals]:
    """The arrivals expected from the last trigger to the next, in these tables by oid."""
    kinds = kinds_of(known, tables.values())
    stated, ahead = (
        stated_rows(tables, options, kinds),
        _forecast(tables.values(), options, zone, known, period),
    )
    arrivals = {}
    for name, oid in tables.items():
        arrived, before = period.arrived.get(oid, 0), period.expected.get(oid, 0.0)
        arrivals[name] = kinds[oid].scaled(expected_rows(arrived, ahead.get(oid), stated.get(oid), before))
    return arrivals


def kinds_of(known: KnownArrivals, tables: Collection[int]) -> Mapping[int, Arrivals]:
    """The proportions of inserts, updates and deletes among the changes that came to each table."""
    hours = {table: [hour for hour in known.hours if hour.relation == table] for table in tables}
    return {
        table: kind_of(
            sum(hour.rows for hour in of_table),
            sum(hour.updates for hour in of_table),
            sum(hour.deletes for hour in of_table),
        )
        for table, of_table in hours.items()
    }


def stated_rows(
    tables: Mapping[TableName, int], options: Mapping[str, Any], kinds: Mapping[int, Arrivals]
) -> Mapping[int, float]:
    """The changed rows of the tables that EXPECT names."""
    return {
        tables[name]: as_stated(kinds[tables[name]], rows).changed
        for name, rows in rows_expected(options.get("EXPECT"), tables).items()
    }


def _forecast(
    tables: Collection[int], options: Mapping[str, Any], zone: str, known: KnownArrivals, period: Period
) -> Mapping[int, float]:
    """The rows expected from now on, by table; none where the trigger may fire at any time."""
    rows: dict[int, dict[datetime, int]] = {table: {} for table in tables}
    for hour in known.hours:
        rows[hour.relation][hour.hour] = hour.rows
    history = History(rows, known.since or known.now, known.now, known.fired)
    trigger, arrived = options.get("TRIGGER", "on demand"), sum(period.arrived.values())
    return forecast(trigger, history, ZoneInfo(zone), arrived) or {}
