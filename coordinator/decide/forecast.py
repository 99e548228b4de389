"""How many changed rows a period brings: pure, from those of past hours.

What comes on a weekday at an hour is what came on that weekday at that hour, on the average; where that was
never seen, at that hour of any day; else at any time. Hours are those of the query's time zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final
from zoneinfo import ZoneInfo

from coordinator.decide.trigger_times import next_time, rows_due

_HOUR: Final = timedelta(hours=1)
_LONGEST: Final = timedelta(days=28)
"""Periods are no longer than what is remembered; what is beyond comes at the same rate."""


@dataclass(frozen=True, slots=True)
class History:
    """By table the changed rows of each hour in which there were any, all that came from `since` to `now`;
    and when the query's triggers fired, the latest last."""

    rows: Mapping[int, Mapping[datetime, int]]
    since: datetime
    now: datetime
    fired: Sequence[datetime]


@dataclass(slots=True)
class _Rate:
    rows: float = 0.0
    seconds: float = 0.0


def forecast(trigger: str, history: History, zone: ZoneInfo, arrived: int = 0) -> Mapping[int, float] | None:
    """Rows by table from now to the next time the trigger fires; None where that may be any time.

    So many have come since it fired.
    """
    if not history.fired:
        return None
    last, most = history.fired[-1], rows_due(trigger)
    start, end = max(last, history.now), next_time(trigger, last, zone)
    left = None if most is None else max(most - arrived, 0)
    if end is None and most is None:
        usual = _usual_period(history.fired)
        end = None if usual is None else last + usual
    if end is not None and end > start:
        expected = {table: _rows(history, table, start, end, zone) for table in history.rows}
        return expected if left is None else _at_most(expected, left)
    return None if left is None else _in_shares(history, left)


def _usual_period(fired: Sequence[datetime]) -> timedelta | None:
    """The median of the times between triggers."""
    seconds = [(later - earlier).total_seconds() for earlier, later in pairwise(fired) if later > earlier]
    return timedelta(seconds=median(seconds)) if seconds else None


def _at_most(rows: Mapping[int, float], most: int) -> Mapping[int, float]:
    """The rows of each table, scaled down so that all of them are at most so many."""
    total = sum(rows.values())
    return {table: count * min(1.0, most / total) if total else count for table, count in rows.items()}


def _in_shares(history: History, most: int) -> Mapping[int, float]:
    """So many rows, shared by the tables as all that came so far; equally, where nothing came."""
    arrived = {table: float(sum(hours.values())) for table, hours in history.rows.items()}
    total = sum(arrived.values())
    return {table: most * (count / total if total else 1 / len(arrived)) for table, count in arrived.items()}


def _rows(history: History, table: int, start: datetime, end: datetime, zone: ZoneInfo) -> float:
    rates = _rates(history, history.rows[table], zone)
    stretch = min(end, start + _LONGEST)
    expected = 0.0
    for moment, seconds in _hours(start, stretch):
        rate = next((rates[key] for key in _keys(moment, zone) if key in rates), None)
        expected += rate.rows / rate.seconds * seconds if rate is not None else 0.0
    return expected * ((end - start) / (stretch - start)) if stretch > start else 0.0


def _rates(history: History, rows: Mapping[datetime, int], zone: ZoneInfo) -> Mapping[tuple[int, ...], _Rate]:
    rates: dict[tuple[int, ...], _Rate] = {}
    for moment, seconds in _hours(max(history.since, history.now - _LONGEST), history.now):
        for key in _keys(moment, zone):
            rate = rates.setdefault(key, _Rate())
            rate.rows += rows.get(moment, 0)
            rate.seconds += seconds
    return rates


def _keys(moment: datetime, zone: ZoneInfo) -> tuple[tuple[int, ...], ...]:
    """What an hour may be compared with, the best first: weekday and hour, hour, all."""
    there = moment.astimezone(zone)
    return (there.weekday(), there.hour), (there.hour,), ()


def _hours(start: datetime, end: datetime) -> Iterator[tuple[datetime, float]]:
    """The hours of UTC by their beginnings, and how many seconds of each lie between."""
    moment = start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while start < end and moment < end:
        yield moment, (min(end, moment + _HOUR) - max(start, moment)).total_seconds()
        moment += _HOUR
