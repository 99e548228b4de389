"""The texts of TRIGGER, checked and put into canonical form; when they fire is the coordinator's."""

from __future__ import annotations

import re
from typing import Final

from dialect.statements.durations import parse_interval

_OR: Final = re.compile(r"\s+or\s+", re.IGNORECASE | re.ASCII)
_ROWS: Final = re.compile(r"every\s+(\d+)\s+rows?", re.IGNORECASE | re.ASCII)
_EVERY: Final = re.compile(r"every\s+(.+)", re.IGNORECASE | re.ASCII)
_AT: Final = re.compile(r"at\s+([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.IGNORECASE | re.ASCII)
_ON_DEMAND: Final = re.compile(r"on\s+demand", re.IGNORECASE | re.ASCII)
_BARE_UNIT: Final = re.compile(r"[a-z]+", re.IGNORECASE | re.ASCII)

_MOST_ROWS: Final = 2**63 - 1
_CRON_RANGES: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_CRON_NAMES: Final[tuple[dict[str, int], ...]] = (
    {},
    {},
    {},
    {
        name: i
        for i, name in enumerate(
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
        )
    },
    {name: i for i, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])},
)
_LONGEST_MONTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_CRON_PART: Final = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d+))?", re.ASCII)


def parse_trigger(text: str) -> str:
    """Canonical text of one trigger, or of several joined by `or`, each given once."""
    parts = [_one(part.strip()) for part in _OR.split(text.strip())]
    if len(set(parts)) != len(parts):
        raise ValueError(text)
    return " or ".join(parts)


def _one(text: str) -> str:
    if _ON_DEMAND.fullmatch(text):
        return "on demand"
    if match := _ROWS.fullmatch(text):
        if not 0 < int(match[1]) <= _MOST_ROWS:
            raise ValueError(text)
        return f"every {int(match[1])} rows"
    if match := _AT.fullmatch(text):
        return f"at {int(match[1]):02}:{match[2]}" + (f":{match[3]}" if match[3] else "")
    if match := _EVERY.fullmatch(text):
        span = f"1 {match[1]}" if _BARE_UNIT.fullmatch(match[1]) else match[1]
        return f"every {parse_interval(span)}"
    return _cron(text)


def _cron(text: str) -> str:
    fields = text.lower().split()
    if len(fields) != len(_CRON_RANGES):
        raise ValueError(text)
    for field, bounds, names in zip(fields, _CRON_RANGES, _CRON_NAMES, strict=True):
        for part in field.split(","):
            _check_cron_part(part, bounds, names)
    canonical = " ".join(fields)
    _minutes, _hours, days, months, _weekdays = cron_values(canonical)
    if fields[4].startswith("*") and all(days[0] > _LONGEST_MONTHS[month - 1] for month in months):
        raise ValueError(text)
    return canonical


def _check_cron_part(part: str, bounds: tuple[int, int], names: dict[str, int]) -> None:
    match = _CRON_PART.fullmatch(part)
    if match is None or (match[3] is not None and int(match[3]) == 0):
        raise ValueError(part)
    ends = [names[word] if word in names else int(word) for word in match.group(1, 2) if word is not None]
    if any(not bounds[0] <= end <= bounds[1] for end in ends) or ends != sorted(ends):
        raise ValueError(part)


def cron_values(text: str) -> tuple[tuple[int, ...], ...]:
    """Minutes, hours, days, months and weekdays (0 is Sunday) that a cron text in canonical form names."""
    fields = zip(text.split(), _CRON_RANGES, _CRON_NAMES, strict=True)
    minutes, hours, days, months, weekdays = (
        tuple(sorted({value for part in field.split(",") for value in _values(part, bounds, names)}))
        for field, bounds, names in fields
    )
    return minutes, hours, days, months, tuple(sorted({weekday % 7 for weekday in weekdays}))


def _values(part: str, bounds: tuple[int, int], names: dict[str, int]) -> range:
    match = _CRON_PART.fullmatch(part)
    assert match is not None, part
    ends = [names[word] if word in names else int(word) for word in match.group(1, 2) if word is not None]
    first, last = (*ends, *ends)[:2] if ends else bounds
    if len(ends) == 1 and match[3]:
        last = bounds[1]
    return range(first, last + 1, int(match[3] or 1))
