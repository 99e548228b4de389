"""What a period is expected to bring."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from coordinator.decide.forecast import History, forecast

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MONDAY = datetime(2026, 6, 1, tzinfo=UTC)
ORDERS, LINES = 1, 2


def busy_days(days: int) -> dict[datetime, int]:
    """1000 rows an hour from 8 to 18 in Berlin, on Sundays none."""
    found = {}
    for number in range(24 * days):
        moment = MONDAY + number * HOUR
        there = moment.astimezone(BERLIN)
        if 8 <= there.hour < 18 and there.weekday() < 6:
            found[moment] = 1000
    return found


def history(days: int, *fired: datetime) -> History:
    return History({ORDERS: busy_days(days), LINES: {}}, MONDAY, MONDAY + days * DAY, fired)


@pytest.mark.parametrize(
    ("trigger", "last", "expected"),
    [
        # The night, the day, a morning, and half an hour of it; on a Sunday nothing.
        ("at 08:00", MONDAY + 14 * DAY + 16 * HOUR, 0),
        ("at 20:00", MONDAY + 14 * DAY - 6 * HOUR, 10_000),
        ("at 12:00", MONDAY + 14 * DAY - 6 * HOUR, 4_000),
        ("every 1800 s", MONDAY + 14 * DAY + 9 * HOUR, 500),
        ("at 20:00", MONDAY + 20 * DAY - 6 * HOUR, 0),
        ("every 604800 s", MONDAY + 14 * DAY, 60_000),
        # Rows or time, whichever comes first.
        ("at 20:00 or every 500 rows", MONDAY + 14 * DAY - 6 * HOUR, 500),
        ("at 20:00 or every 50000 rows", MONDAY + 14 * DAY - 6 * HOUR, 10_000),
        ("every 500 rows", MONDAY, 500),
        ("on demand or at 20:00", MONDAY + 14 * DAY - 6 * HOUR, 10_000),
    ],
)
def test_two_weeks_tell_what_a_period_brings(trigger: str, last: datetime, expected: float) -> None:
    assert forecast(trigger, history(14, last), BERLIN) == pytest.approx({ORDERS: expected, LINES: 0})


def test_a_weekday_that_was_never_seen_is_like_the_others() -> None:
    friday = MONDAY + 4 * DAY
    found = forecast("at 20:00", history(4, friday - 6 * HOUR), BERLIN)
    assert found == pytest.approx({ORDERS: 10_000, LINES: 0})


def test_on_demand_the_usual_period_is_expected() -> None:
    last = MONDAY + 15 * DAY + 7 * HOUR
    fired = (last - 9 * HOUR, last - 5 * HOUR, last - 3 * HOUR, last - 1 * HOUR, last)
    assert forecast("on demand", history(15, *fired), BERLIN) == pytest.approx({ORDERS: 2_000, LINES: 0})
    assert forecast("on demand", history(15, last), BERLIN) is None
    assert forecast("on demand", history(15), BERLIN) is None


def test_the_first_minutes_tell_something() -> None:
    began = MONDAY + timedelta(minutes=50)
    now = began + timedelta(minutes=5)
    seen = History({ORDERS: {MONDAY: 100}}, began, now, (now,))
    assert forecast("every 600 s", seen, BERLIN) == pytest.approx({ORDERS: 200})


def test_a_table_that_was_loaded_a_moment_ago_tells_more_than_will_come() -> None:
    """More rows in a day than a timedelta has days."""
    began = MONDAY + timedelta(minutes=50)
    now = began + timedelta(seconds=3)
    seen = History({ORDERS: {MONDAY: 1_000_000}}, began, now, (now,))
    expected = forecast("at 12:00", seen, BERLIN)
    assert expected == pytest.approx({ORDERS: (9 * 3600 + 10 * 60 - 3) / 3 * 1_000_000})


def test_rows_without_a_history_are_of_all_tables() -> None:
    seen = History({ORDERS: {}, LINES: {}}, MONDAY, MONDAY, (MONDAY,))
    assert forecast("every 100 rows", seen, BERLIN) == {ORDERS: 50, LINES: 50}
    assert forecast("at 20:00", seen, BERLIN) == {ORDERS: 0, LINES: 0}


def test_a_clock_that_was_set_back() -> None:
    """The last trigger fired in what is the future now."""
    seen = History({ORDERS: busy_days(14)}, MONDAY, MONDAY - DAY, (MONDAY + DAY, MONDAY + 2 * DAY))
    assert forecast("at 20:00", seen, BERLIN) == {ORDERS: 0}


def test_a_history_that_begins_now_tells_nothing() -> None:
    now = MONDAY + timedelta(minutes=7)
    assert forecast("at 08:00", History({ORDERS: {}}, now, now, (now,)), BERLIN) == {ORDERS: 0.0}
