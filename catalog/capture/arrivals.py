"""Changed rows of tables by the hour in which they came, as far back as they are told of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg import Connection

from catalog.rows import row_of, rows_of

_BY_HOUR: Final = """
    SELECT a.relation::oid::int8 AS relation, a.hour, a.rows FROM gavial.arrivals a
    WHERE a.relation::oid = ANY (%s::oid[]) AND a.hour > now() - interval '29 days'
"""
_KINDS: Final = """
    SELECT a.relation::oid::int8 AS relation, sum(a.rows)::float8 AS rows, sum(a.updates)::float8 AS updates,
        sum(a.deletes)::float8 AS deletes
    FROM gavial.arrivals a
    WHERE a.relation::oid = ANY (%s::oid[]) AND a.hour > now() - interval '29 days' GROUP BY 1
"""
_KNOWN: Final = """
    SELECT least(min(t.fired), (SELECT min(a.hour) + interval '1 hour' FROM gavial.arrivals a
                                WHERE a.relation::oid = ANY (%s::oid[]))) AS since, now() AS now
    FROM gavial.triggers t WHERE t.query_id = %s
"""


@dataclass(frozen=True, slots=True)
class HourOfTable:
    """So many changed rows of a table came in the hour that began then."""

    relation: int
    hour: datetime
    rows: int


@dataclass(frozen=True, slots=True)
class KindsOfTable:
    """The changed rows of a table; among them updates, which are two rows each, and deleted ones."""

    relation: int
    rows: float
    updates: float
    deletes: float


@dataclass(frozen=True, slots=True)
class Known:
    """From when on it is known what came for a query, None where nothing ever did; and what time it is."""

    since: datetime | None
    now: datetime


def rows_by_hour(connection: Connection, relations: Collection[int]) -> tuple[HourOfTable, ...]:
    """The hours in which rows of these tables came."""
    return rows_of(connection, HourOfTable, _BY_HOUR, (list(relations),))


def rows_by_kind(connection: Connection, relations: Collection[int]) -> tuple[KindsOfTable, ...]:
    """What kinds of changes came, of the tables of which any did."""
    return rows_of(connection, KindsOfTable, _KINDS, (list(relations),))


def known_time(connection: Connection, query: UUID, relations: Collection[int]) -> Known:
    """Since the first trigger of a query, or the first hour in which rows of its tables came."""
    known = row_of(connection, Known, _KNOWN, (list(relations), query))
    assert known is not None
    return known
