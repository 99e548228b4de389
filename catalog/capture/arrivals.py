"""Changed rows of tables by the hour, as far back as they are kept, and when a query's triggers fired."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from catalog.rows import value_of


@dataclass(frozen=True, slots=True)
class HourOfTable:
    """Changed rows of a table in the hour that began then; among them updates, two rows each, and deletes."""

    relation: int
    hour: datetime
    rows: int
    updates: int
    deletes: int


@dataclass(frozen=True, slots=True)
class KnownArrivals:
    """What is known of arrivals for a query: the hours in which rows came, and its latest triggers in order.

    `since`: from when on it is known; None where nothing ever came.
    """

    hours: Sequence[HourOfTable]
    fired: Sequence[datetime]
    since: datetime | None
    now: datetime

    @staticmethod
    def of(values: Mapping[str, Any]) -> KnownArrivals:
        """The value, as `gavial.known_arrivals` gives it."""
        hours = [HourOfTable(**{**hour, "hour": _moment(hour["hour"])}) for hour in values["hours"]]
        since = None if values["since"] is None else _moment(values["since"])
        return KnownArrivals(hours, [*map(_moment, values["fired"])], since, _moment(values["now"]))


def known_arrivals(connection: Connection, query: UUID, relations: Collection[int]) -> KnownArrivals:
    """What is known of arrivals in these tables."""
    question = "SELECT gavial.known_arrivals(%s, %s::oid[])"
    return KnownArrivals.of(value_of(connection, question, (query, list(relations))))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
