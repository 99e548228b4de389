"""When triggers fire, also across changes to and from summer time."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from coordinator.decide.trigger_times import next_time, rows_due
from dialect.statements.triggers import parse_trigger

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("trigger", "last", "expected"),
    [
        ("every 10 minutes", "2026-01-01 00:00", "2026-01-01 00:10"),
        ("at 06:00", "2026-01-01 00:00", "2026-01-01 05:00"),
        ("at 06:00", "2026-01-01 05:00", "2026-01-02 05:00"),
        ("at 06:00", "2026-06-01 05:00", "2026-06-02 04:00"),
        # 02:30 does not exist on 29 March and exists twice on 25 October.
        ("at 02:30", "2026-03-28 12:00", "2026-03-29 01:30"),
        ("at 02:30", "2026-03-29 01:30", "2026-03-30 00:30"),
        ("at 02:30", "2026-10-24 12:00", "2026-10-25 00:30"),
        ("at 02:30", "2026-10-25 00:30", "2026-10-26 01:30"),
        ("0 6 * * 1", "2026-11-18 12:00", "2026-11-23 05:00"),
        ("*/15 * * * *", "2026-11-18 12:07", "2026-11-18 12:15"),
        ("0 0 29 feb *", "2026-11-18 12:00", "2028-02-28 23:00"),
        ("0 12 13 * fri", "2026-11-18 12:00", "2026-11-20 11:00"),
        ("0 12 1-7 * *", "2026-11-18 12:00", "2026-12-01 11:00"),
        ("at 06:00 or every 1 hour", "2026-01-01 04:30", "2026-01-01 05:00"),
        ("0 0 * * 7", "2026-11-18 12:00", "2026-11-21 23:00"),
    ],
)
def test_next(trigger: str, last: str, expected: str) -> None:
    found = next_time(parse_trigger(trigger), datetime.fromisoformat(last).replace(tzinfo=UTC), BERLIN)
    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize("trigger", ["on demand", "every 1000 rows"])
def test_never_by_time(trigger: str) -> None:
    assert next_time(parse_trigger(trigger), datetime(2026, 1, 1, tzinfo=UTC), BERLIN) is None


def test_rows() -> None:
    assert rows_due(parse_trigger("every 100 rows or every 50 rows or at 06:00")) == 50
    assert rows_due(parse_trigger("on demand")) is None
