"""Which answers are owed: pure, on a clock that the caller has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from catalog.running import Run, Running
from coordinator.clock import next_time, rows_due


@dataclass(frozen=True, slots=True)
class Due:
    """A query whose answer is owed, and the statements that wait for it."""

    query: Running
    refreshes: tuple[Run, ...] = ()


def is_first(query: Running) -> bool:
    """Whether an answer is owed because there is none, or none that can be built on."""
    return query.status == "initialising" or not query.answered


def is_triggered(query: Running, now: datetime, rows_waiting: Callable[[], int]) -> bool:
    """Whether the query's trigger fires; its rows are counted only where they have a say."""
    trigger = query.options.get("TRIGGER", "on demand")
    moment = next_time(trigger, query.fired or now, ZoneInfo(query.settings.get("TimeZone", "UTC")))
    if moment is not None and moment <= now:
        return True
    most = rows_due(trigger)
    return most is not None and rows_waiting() >= most


def groups(due: Sequence[Due]) -> Iterator[tuple[Due, ...]]:
    """What is published together: what is owed at the same time; a first answer keeps nobody waiting."""
    together = tuple(each for each in due if not is_first(each.query))
    if together:
        yield together
    for each in due:
        if is_first(each.query):
            yield (each,)
