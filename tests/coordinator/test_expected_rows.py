"""The rows that a period is expected to bring: what is stated, forecast, and known from before."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from catalog.capture.arrivals import HourOfTable, KnownArrivals
from catalog.postgres.schema import TableName
from catalog.queries.paces import Period
from coordinator.planning.expected_rows import expected_arrivals
from planner.pace.schedule import Arrivals

TABLE: Final = 7
NAME: Final = TableName("s", "t")
START: Final = datetime(2024, 1, 1, tzinfo=UTC)
HOURS: Final = [
    HourOfTable(TABLE, START + timedelta(hours=hour), rows=120, updates=60, deletes=0) for hour in range(24)
]
NOW: Final = START + timedelta(days=1)
KNOWN: Final = KnownArrivals(HOURS, [NOW], START, NOW)
NOTHING: Final = KnownArrivals([], [], None, NOW)


def expected(options: Mapping[str, str], known: KnownArrivals, period: Period) -> Arrivals:
    [arrivals] = expected_arrivals({NAME: TABLE}, options, "UTC", known, period).values()
    return arrivals


@pytest.mark.parametrize(
    ("options", "known", "arrived", "rows"),
    [
        ({}, NOTHING, 0, 0),
        ({"TRIGGER": "every 02:00:00"}, NOTHING, 0, 0),
        ({"TRIGGER": "every 02:00:00"}, KNOWN, 0, 240),
        ({"TRIGGER": "every 02:00:00"}, KNOWN, 60, 300),
        ({"TRIGGER": "every 100 rows"}, KNOWN, 40, 100),
        ({"TRIGGER": "every 02:00:00", "EXPECT": "t 30"}, KNOWN, 10, 60),
        ({"TRIGGER": "every 02:00:00", "EXPECT": "t 30"}, KNOWN, 5000, 5240),
        ({"EXPECT": "t 30"}, NOTHING, 10, 30),
    ],
)
def test_rows_of_a_period(
    options: Mapping[str, str], known: KnownArrivals, arrived: int, rows: float
) -> None:
    """All changes that are known are updates, of which EXPECT counts each once."""
    kind = Arrivals(0, rows / 2, 0) if known is KNOWN else Arrivals(rows)
    assert expected(options, known, Period({TABLE: arrived}, {})) == kind


def test_what_was_expected_before_is_outgrown() -> None:
    assert expected({}, NOTHING, Period({TABLE: 10}, {TABLE: 100.0})) == Arrivals(100)
    assert expected({}, NOTHING, Period({TABLE: 300}, {TABLE: 100.0})).inserts >= 300
