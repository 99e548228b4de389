"""Dates, times and timestamps as PostgreSQL writes them: `4713-11-24 BC`, `24:00:00`, `infinity`.

Days and microseconds count from 1970, in the Gregorian calendar at any time; the year before 1 is 1 BC. The
largest and the smallest number are the infinite ones.
"""

from __future__ import annotations

import re
from typing import Final

MICROSECONDS_A_SECOND: Final = 1_000_000
MICROSECONDS_A_DAY: Final = 86_400 * MICROSECONDS_A_SECOND

INFINITE_DAYS: Final = (-(2**31), 2**31 - 1)
INFINITE_MICROSECONDS: Final = (-(2**63), 2**63 - 1)

FIRST_DAY: Final = -2_440_588
LAST_DAY: Final = 2_145_042_905
"""What PostgreSQL's dates reach to: 4714-11-24 BC and 5874897-12-31."""

LAST_DAY_WITH_TIME: Final = INFINITE_MICROSECONDS[1] // MICROSECONDS_A_DAY - 1
"""Timestamps are kept to the year 294246; PostgreSQL's reach thirty years further."""

_INFINITE: Final = {"-infinity": 0, "infinity": 1}
_DATE: Final = re.compile(r"(\d{4,7})-(\d\d)-(\d\d)")
_CLOCK: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_ZONE: Final = re.compile(r"([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?")
_DAYS_OF_ERA: Final = 146_097  # in 400 years
_DAYS_TO_1970: Final = 719_468  # from the first of March of the year 0


def read_date(text: str) -> int:
    """Days since 1970; a ValueError for what PostgreSQL does not write."""
    words = text.strip()
    if words.lower() in _INFINITE:
        return INFINITE_DAYS[_INFINITE[words.lower()]]
    written = words.removesuffix(" BC")
    match = _DATE.fullmatch(written)
    if not match:
        raise ValueError(text)
    year, month, day = map(int, match.groups())
    days = _days_of(1 - year if words != written else year, month, day)
    if not FIRST_DAY <= days <= LAST_DAY or _date_of(days)[1:] != (month, day):
        raise ValueError(text)
    return days


def read_timestamp(text: str) -> int:
    """Microseconds since 1970, of UTC where the text has a zone."""
    words = text.strip()
    if words.lower() in _INFINITE:
        return INFINITE_MICROSECONDS[_INFINITE[words.lower()]]
    written = words.removesuffix(" BC")
    date, _, rest = written.partition(" ")
    clock = _CLOCK.match(rest)
    if not clock:
        raise ValueError(text)
    zone = _ZONE.fullmatch(rest[clock.end() :] or "+00")
    days = read_date(date + words[len(written) :])
    if not zone or days > LAST_DAY_WITH_TIME:
        raise ValueError(text)
    return days * MICROSECONDS_A_DAY + _time_of(clock) - _offset(zone)


def has_zone(text: str) -> bool:
    """Whether the text of a timestamp says which zone it is of."""
    match = _CLOCK.search(text)
    return match is None or bool(_ZONE.match(text[match.end() :]))


def read_time(text: str) -> int:
    """Microseconds of the day, 24:00:00 among them."""
    match = _CLOCK.fullmatch(text.strip())
    if not match:
        raise ValueError(text)
    return _time_of(match)


def write_date(days: int) -> str:
    """The text of a number of days."""
    if days in INFINITE_DAYS:
        return "infinity" if days > 0 else "-infinity"
    year, month, day = _date_of(days)
    return f"{year:04d}-{month:02d}-{day:02d}" if year > 0 else f"{1 - year:04d}-{month:02d}-{day:02d} BC"


def write_timestamp(microseconds: int, zone: str = "") -> str:
    """The text of a number of microseconds; `zone` is written behind the time."""
    if microseconds in INFINITE_MICROSECONDS:
        return "infinity" if microseconds > 0 else "-infinity"
    days, time = divmod(microseconds, MICROSECONDS_A_DAY)
    date = write_date(days)
    era = " BC" if date.endswith(" BC") else ""
    return f"{date.removesuffix(' BC')} {write_time(time)}{zone}{era}"


def write_time(microseconds: int) -> str:
    """The text of a time of day."""
    seconds, fraction = divmod(microseconds, MICROSECONDS_A_SECOND)
    digits = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{digits}"


def _time_of(match: re.Match[str]) -> int:
    hours, minutes, seconds, fraction = match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * MICROSECONDS_A_SECOND + int((fraction or "").ljust(6, "0"))


def _offset(match: re.Match[str]) -> int:
    sign, hours, minutes, seconds = match.groups()
    east = (int(hours) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return (east if sign == "+" else -east) * MICROSECONDS_A_SECOND


def _days_of(year: int, month: int, day: int) -> int:
    """Years begin in March, so that a leap day is the last one of its year."""
    era, of_era = divmod(year - (month <= 2), 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * _DAYS_OF_ERA + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _DAYS_TO_1970


def _date_of(days: int) -> tuple[int, int, int]:
    era, of_era = divmod(days + _DAYS_TO_1970, _DAYS_OF_ERA)
    years = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    return era * 400 + years + (month >= 10), month + 3 if month < 10 else month - 9, day
