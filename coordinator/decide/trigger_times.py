"""When a trigger fires: pure, on a clock that the caller has.

Times of day are those of the zone that was recorded at CREATE. A time that a change to summer time leaves
out comes an hour later; one that a change to winter time brings twice comes once, the first time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from dialect.statements.durations import span_seconds
from dialect.statements.triggers import cron_values

_ROWS: Final = re.compile(r"every (\d+) rows")
_AT: Final = re.compile(r"at (\d\d):(\d\d)(?::(\d\d))?")
_EVERY: Final = "every "
_ON_DEMAND: Final = "on demand"
_LONGEST_DAYS: Final = 366 * 8 + 2
"""A cron text that comes at all comes within so many days: 29 February is at most eight years away."""


def next_time(trigger: str, last: datetime, zone: ZoneInfo) -> datetime | None:
    """When the trigger, in canonical form, fires next after `last`; None where time has no say."""
    times = [moment for part in trigger.split(" or ") if (moment := _next(part, last, zone)) is not None]
    return min(times, default=None)


def rows_due(trigger: str) -> int | None:
    """After how many changed rows the trigger fires, if rows have a say."""
    counts = [int(match[1]) for part in trigger.split(" or ") if (match := _ROWS.fullmatch(part))]
    return min(counts, default=None)


def _next(part: str, last: datetime, zone: ZoneInfo) -> datetime | None:
    if part == _ON_DEMAND or _ROWS.fullmatch(part):
        return None
    if match := _AT.fullmatch(part):
        moment = time(int(match[1]), int(match[2]), int(match[3] or 0))
        return _first(((day, moment) for day in _days(last, zone)), last, zone)
    if part.startswith(_EVERY):
        return last + timedelta(seconds=float(span_seconds(part.removeprefix(_EVERY))))
    return _first(_cron_times(part, last, zone), last, zone)


def _days(last: datetime, zone: ZoneInfo) -> Iterator[date]:
    """The day before (a time left out by a change may come late), the day itself, and those after it."""
    first = last.astimezone(zone).date() - timedelta(days=1)
    return (first + timedelta(days=number) for number in range(_LONGEST_DAYS))


def _first(moments: Iterator[tuple[date, time]], last: datetime, zone: ZoneInfo) -> datetime | None:
    for day, moment in moments:
        there = datetime.combine(day, moment, zone).astimezone(UTC)
        if there > last:
            return there
    return None


def _cron_times(text: str, last: datetime, zone: ZoneInfo) -> Iterator[tuple[date, time]]:
    """The moments of a cron text; where both day of month and weekday are restricted, either will do."""
    minutes, hours, days, months, weekdays = cron_values(text)
    fields = text.split()
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    for day in _days(last, zone):
        by_day, by_weekday = day.day in days, day.isoweekday() % 7 in weekdays
        if day.month in months and (by_day or by_weekday if either else by_day and by_weekday):
            for hour in hours:
                for minute in minutes:
                    yield day, time(hour, minute)
