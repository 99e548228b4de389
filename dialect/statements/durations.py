"""Lengths of time as PostgreSQL reads intervals: the forms that have one length (no months, no years)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_SECONDS: Final = {
    **dict.fromkeys(("us", "usec", "usecs", "microsecond", "microseconds"), Decimal("0.000001")),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), Decimal("0.001")),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(3600)),
    **dict.fromkeys(("d", "day", "days"), Decimal(86400)),
    **dict.fromkeys(("w", "week", "weeks"), Decimal(604800)),
}
_PART: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]+)\s*", re.ASCII)
_CLOCK: Final = re.compile(r"\s*(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?\s*", re.ASCII)
_MICROSECONDS: Final = 1_000_000
_MOST_SECONDS: Final = 86400 * 3660


def parse_span(text: str) -> str:
    """Seconds, as a canonical text such as `90 s`; positive."""
    return f"{_plain(span_seconds(text))} s"


def parse_interval(text: str) -> str:
    """The same as PostgreSQL writes it, with 24 hours as a day: `1 day`, `00:10:00`, `7 days 12:00:00`."""
    days, rest = divmod(span_seconds(text), _SECONDS["day"])
    minutes, seconds = divmod(rest, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{int(hours):02}:{int(minutes):02}:{int(seconds):02}{_plain(seconds % 1)[1:]}"
    named = "1 day" if days == 1 else f"{int(days)} days"
    return clock if not days else named if not rest else f"{named} {clock}"


def span_seconds(text: str) -> Decimal:
    """How long a span is, in seconds; positive."""
    seconds = _parts(text)
    if not 0 < seconds <= _MOST_SECONDS or seconds * _MICROSECONDS % 1:
        raise ValueError(text)
    return seconds


def _plain(number: Decimal) -> str:
    return format(number.normalize(), "f")


def _parts(text: str) -> Decimal:
    at = 0
    total = Decimal(0)
    while at < len(text):
        if (clock := _CLOCK.fullmatch(text, at)) is not None:
            return total + _seconds_of_clock(clock)
        part = _PART.match(text, at)
        if part is None or part[2].lower() not in _SECONDS:
            raise ValueError(text)
        total += Decimal(part[1]) * _SECONDS[part[2].lower()]
        at = part.end()
    return total


def _seconds_of_clock(match: re.Match[str]) -> Decimal:
    return Decimal(match[1]) * 3600 + Decimal(match[2]) * 60 + Decimal(match[3] or 0)
