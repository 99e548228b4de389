"""Intervals as PostgreSQL writes them in its own style: `1 year 2 mons -3 days +04:05:06.7`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from catalog.errors import NotMaintainable

_MONTHS: Final = {"year": 12, "mon": 1, "month": 1, "decade": 120, "century": 1200, "centurie": 1200}
_DAYS: Final = {"day": 1, "week": 7}
_MICROSECONDS: Final = {"hour": 3_600_000_000, "minute": 60_000_000, "min": 60_000_000}
_PART: Final = re.compile(r"\s*([+-]?)\s*(?:(\d+):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?|(\d+)\s*([a-z]+?)s?\b)")


@dataclass(frozen=True, slots=True)
class Interval:
    """Months, days and microseconds: three numbers that do not add up to one."""

    months: int
    days: int
    microseconds: int


INFINITE: Final = Interval(2**31 - 1, 2**31 - 1, 2**63 - 1)
NEGATIVE_INFINITE: Final = Interval(-(2**31), -(2**31), -(2**63))


def read_interval(text: str) -> Interval:
    """The interval; spellings other than PostgreSQL's own style are refused."""
    months = days = microseconds = position = 0
    words = text.strip().lower()
    if words in ("infinity", "-infinity"):
        return INFINITE if words == "infinity" else NEGATIVE_INFINITE
    while position < len(words):
        match = _PART.match(words, position)
        if not match:
            raise _unreadable(text)
        sign = -1 if match[1] == "-" else 1
        unit = match[7]
        if unit is None:
            microseconds += sign * _clock(match)
        elif unit in _MONTHS:
            months += sign * int(match[6]) * _MONTHS[unit]
        elif unit in _DAYS:
            days += sign * int(match[6]) * _DAYS[unit]
        elif unit in _MICROSECONDS:
            microseconds += sign * int(match[6]) * _MICROSECONDS[unit]
        elif unit in ("sec", "second"):
            microseconds += sign * int(match[6]) * 1_000_000
        else:
            raise _unreadable(text)
        position = match.end()
    return Interval(months, days, microseconds)


def _clock(match: re.Match[str]) -> int:
    hours, minutes, seconds, fraction = match[2], match[3], match[4] or "0", match[5] or ""
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1_000_000 + int(fraction.ljust(6, "0"))


def _unreadable(text: str) -> NotMaintainable:
    return NotMaintainable(f"the interval {text!r}", hint="Write it like '1 mon 2 days 03:04:05'.")
