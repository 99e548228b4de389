"""The fields of dates, times and intervals: extract, date_part, date_trunc."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MINYEAR, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final, TypeAlias

from catalog.errors import DatetimeOverflow, FeatureNotSupported, InvalidParameterValue
from executors.reference.values.casts import microseconds, midnight
from executors.reference.values.integers import quotient, remainder
from executors.reference.values.values import DAYS_OF_MONTH, MICROSECONDS_OF_DAY, Definitions, Interval

Fields: TypeAlias = Mapping[str, Decimal]

_EPOCH: Final = date(1970, 1, 1).toordinal()
_QUARTER_DAYS_OF_YEAR: Final = 1461  # 365.25 days
_MICROSECONDS_OF_QUARTER_DAY: Final = MICROSECONDS_OF_DAY // 4
_SYNONYMS: Final = {
    **{f"{unit}s": unit for unit in ("year", "month", "day", "hour", "minute", "second", "decade", "week")},
    **{f"{unit}s": unit for unit in ("millisecond", "microsecond")},
    "mon": "month",
    "mons": "month",
}


def field_of_date(field: str, day: date) -> Decimal:
    """A field of a date; it has none of the day."""
    epoch = {"epoch": Decimal((day.toordinal() - _EPOCH) * 86_400)}
    return _chosen(field, {**_fields_of_date(day), **epoch})


def field_of_time(field: str, at: time) -> Decimal:
    """A field of a time."""
    since = microseconds(at)
    return _chosen(field, {**_fields_of_clock(since), "epoch": _decimal(since, 6)})


def field_of_timestamp(field: str, at: datetime) -> Decimal:
    """A field of a moment."""
    since = microseconds(at.time())
    epoch = (at.toordinal() - _EPOCH) * MICROSECONDS_OF_DAY + since
    return _chosen(field, {**_fields_of_date(at), **_fields_of_clock(since), "epoch": _decimal(epoch, 6)})


def field_of_interval(field: str, interval: Interval) -> Decimal:
    """A field of an interval: of each part by itself, but for the epoch."""
    years, months = quotient(interval.months, 12), remainder(interval.months, 12)
    quarter_days = years * _QUARTER_DAYS_OF_YEAR + (months * DAYS_OF_MONTH + interval.days) * 4
    epoch = quarter_days * _MICROSECONDS_OF_QUARTER_DAY + interval.microseconds
    numbers = {"year": years, "month": months, "day": interval.days, "decade": quotient(years, 10)}
    numbers |= {"century": quotient(years, 100), "millennium": quotient(years, 1000)}
    plain = {name: Decimal(number) for name, number in numbers.items()}
    return _chosen(field, {**plain, **_fields_of_clock(interval.microseconds), "epoch": _decimal(epoch, 6)})


def _fields_of_date(day: date) -> Fields:
    return {
        "year": Decimal(day.year),
        "month": Decimal(day.month),
        "day": Decimal(day.day),
        "quarter": Decimal((day.month + 2) // 3),
        "week": Decimal(day.isocalendar().week),
        "isoyear": Decimal(day.isocalendar().year),
        "dow": Decimal(day.isoweekday() % 7),
        "isodow": Decimal(day.isoweekday()),
        "doy": Decimal(day.timetuple().tm_yday),
        "decade": Decimal(day.year // 10),
        "century": Decimal((day.year + 99) // 100),
        "millennium": Decimal((day.year + 999) // 1000),
    }


def _fields_of_clock(since: int) -> Fields:
    seconds = remainder(since, 60_000_000)
    return {
        "hour": Decimal(quotient(since, 3_600_000_000)),
        "minute": Decimal(remainder(quotient(since, 60_000_000), 60)),
        "second": _decimal(seconds, 6),
        "millisecond": _decimal(seconds, 3),
        "microsecond": Decimal(seconds),
    }


def _decimal(number: int, digits: int) -> Decimal:
    return Decimal(number).scaleb(-digits)


def _chosen(field: str, fields: Fields) -> Decimal:
    name = field.lower()
    name = _SYNONYMS.get(name, name)
    if name not in fields:
        raise FeatureNotSupported(f'unit "{field}" not supported')
    return fields[name]


def truncated(field: str, at: datetime) -> datetime:
    """The beginning of the unit of time that the moment lies in."""
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    name = field.lower()
    match _SYNONYMS.get(name, name):
        case "microsecond":
            return at
        case "millisecond":
            return at.replace(microsecond=at.microsecond // 1000 * 1000)
        case "second":
            return at.replace(microsecond=0)
        case "minute":
            return at.replace(second=0, microsecond=0)
        case "hour":
            return at.replace(minute=0, second=0, microsecond=0)
        case "day":
            return day
        case "week":
            return day - timedelta(day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case unit:
            year = _first_year(unit, day.year)
            if year < MINYEAR:
                raise DatetimeOverflow("timestamp out of range")
            return day.replace(year=year, month=1, day=1)


def _first_year(unit: str, year: int) -> int:
    match unit:
        case "year":
            return year
        case "decade":
            return year // 10 * 10
        case "century":
            return (year - 1) // 100 * 100 + 1
        case "millennium":
            return (year - 1) // 1000 * 1000 + 1
        case _:
            raise InvalidParameterValue(f'unit "{unit}" not recognized')


FIELDS: Final[Definitions] = {
    6199: ("extract", field_of_date),
    6200: ("extract", field_of_time),
    6202: ("extract", field_of_timestamp),
    6203: ("extract", field_of_timestamp),
    6204: ("extract", field_of_interval),
    1384: ("date_part", lambda field, day: float(field_of_timestamp(field, midnight(day)))),
    1385: ("date_part", lambda field, at: float(field_of_time(field, at))),
    2021: ("date_part", lambda field, at: float(field_of_timestamp(field, at))),
    1171: ("date_part", lambda field, at: float(field_of_timestamp(field, at))),
    1172: ("date_part", lambda field, interval: float(field_of_interval(field, interval))),
    2020: ("date_trunc", truncated),
    1217: ("date_trunc", truncated),
}
