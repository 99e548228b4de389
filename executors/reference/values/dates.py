"""PostgreSQL's arithmetic of dates, times and intervals."""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Final

from catalog.errors import DatetimeOverflow, DivisionByZero
from executors.reference.values.casts import microseconds, midnight
from executors.reference.values.values import DAYS_OF_MONTH, MICROSECONDS_OF_DAY, Definitions, Interval

_SECONDS_OF_DAY: Final = 86_400
_MOST_MONTHS: Final = 1 << 31


def later(at: datetime, by: Interval) -> datetime:
    """First the months, to the last day where a month is too short, then the days and the time."""
    try:
        return _months_later(at, by.months) + timedelta(by.days, microseconds=by.microseconds)
    except (OverflowError, ValueError):
        raise DatetimeOverflow("timestamp out of range") from None


def _months_later(at: datetime, months: int) -> datetime:
    month = at.year * 12 + at.month - 1 + months
    year, month = month // 12, month % 12 + 1
    return at.replace(year=year, month=month, day=min(at.day, calendar.monthrange(year, month)[1]))


def days_later(day: date, days: int) -> date:
    """The date so many days later."""
    try:
        return day + timedelta(days)
    except OverflowError:
        raise DatetimeOverflow("date out of range") from None


def between(end: datetime, start: datetime) -> Interval:
    """The days and the time from one to the other."""
    length = (end - start) // timedelta(microseconds=1)
    days = abs(length) // MICROSECONDS_OF_DAY * (1 if length >= 0 else -1)
    return Interval(0, days, length - days * MICROSECONDS_OF_DAY)


def negative(interval: Interval) -> Interval:
    """Each part negated."""
    return Interval(-interval.months, -interval.days, -interval.microseconds)


def sum_of(one: Interval, other: Interval) -> Interval:
    """The sum of two intervals, part by part."""
    return Interval(one.months + other.months, one.days + other.days, one.microseconds + other.microseconds)


def multiple(interval: Interval, factor: float) -> Interval:
    """Part by part; fractions of months become days, fractions of days time."""
    return _scaled(interval, lambda part: part * factor)


def fraction(interval: Interval, divisor: float) -> Interval:
    """Part by part; fractions of months become days, fractions of days time."""
    if divisor == 0:
        raise DivisionByZero("division by zero")
    return _scaled(interval, lambda part: part / divisor)


def _scaled(interval: Interval, scaled: Callable[[int], float]) -> Interval:
    if not all(abs(scaled(part)) < _MOST_MONTHS for part in (interval.months, interval.days, 1)):
        raise DatetimeOverflow("interval out of range")
    months, days = math.trunc(scaled(interval.months)), math.trunc(scaled(interval.days))
    days_of_months = _to_microseconds((scaled(interval.months) - months) * DAYS_OF_MONTH)
    rest_of_days = scaled(interval.days) - days + days_of_months - math.trunc(days_of_months)
    seconds = _to_microseconds(rest_of_days * _SECONDS_OF_DAY)
    if abs(seconds) >= _SECONDS_OF_DAY:
        whole = math.trunc(seconds / _SECONDS_OF_DAY)
        days, seconds = days + whole, seconds - whole * _SECONDS_OF_DAY
    time_part = round(scaled(interval.microseconds) + seconds * 1_000_000)
    return Interval(months, days + math.trunc(days_of_months), time_part)


def _to_microseconds(value: float) -> float:
    return round(value * 1_000_000) / 1_000_000


def time_later(at: time, by: Interval) -> time:
    """The time later by the interval's time alone, around the clock."""
    since = (microseconds(at) + by.microseconds) % MICROSECONDS_OF_DAY
    return (datetime.min + timedelta(microseconds=since)).time()


def made(year: int, month: int, day: int) -> date:
    """The date of these numbers."""
    try:
        return date(year, month, day)
    except ValueError:
        raise DatetimeOverflow(f"date field value out of range: {year}-{month:02}-{day:02}") from None


def _earlier(at: datetime, by: Interval) -> datetime:
    return later(at, negative(by))


DATES: Final[Definitions] = {
    1141: ("date_pli", days_later),
    2550: ("integer_pl_date", lambda days, day: days_later(day, days)),
    1142: ("date_mii", lambda day, days: days_later(day, -days)),
    1140: ("date_mi", lambda one, other: (one - other).days),
    1272: ("datetime_pl", datetime.combine),
    1296: ("timedate_pl", lambda at, day: datetime.combine(day, at)),
    2032: ("timestamp_pl_interval", later),
    2548: ("interval_pl_timestamp", lambda by, at: later(at, by)),
    2033: ("timestamp_mi_interval", _earlier),
    1189: ("timestamptz_pl_interval", later),
    2549: ("interval_pl_timestamptz", lambda by, at: later(at, by)),
    1190: ("timestamptz_mi_interval", _earlier),
    2071: ("date_pl_interval", lambda day, by: later(midnight(day), by)),
    2546: ("interval_pl_date", lambda by, day: later(midnight(day), by)),
    2072: ("date_mi_interval", lambda day, by: _earlier(midnight(day), by)),
    2031: ("timestamp_mi", between),
    1188: ("timestamptz_mi", between),
    1690: ("time_mi_time", lambda one, other: Interval(0, 0, microseconds(one) - microseconds(other))),
    1747: ("time_pl_interval", time_later),
    1848: ("interval_pl_time", lambda by, at: time_later(at, by)),
    1748: ("time_mi_interval", lambda at, by: time_later(at, negative(by))),
    1169: ("interval_pl", sum_of),
    1170: ("interval_mi", lambda one, other: sum_of(one, negative(other))),
    1168: ("interval_um", negative),
    1618: ("interval_mul", multiple),
    1624: ("mul_d_interval", lambda factor, interval: multiple(interval, factor)),
    1326: ("interval_div", fraction),
    3846: ("make_date", made),
    1373: ("isfinite", lambda _: True),
    2048: ("isfinite", lambda _: True),
    1389: ("isfinite", lambda _: True),
    1390: ("isfinite", lambda _: True),
}
