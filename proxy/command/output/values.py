"""Values as people read them, written as PostgreSQL writes them, and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

import click

from planner.explain.schedule_text import figure

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_LARGEST: Final = 10240
"""As in PostgreSQL, so many of a unit are written in the next one."""


def print_json(value: object) -> None:
    """One value for programs, on standard output."""
    click.echo(json_text(value))


def json_text(value: object) -> str:
    """One value for programs."""
    return json.dumps(value, default=as_json, indent=2, ensure_ascii=False)


def as_json(value: object) -> Any:
    """What JSON has no form for: times as ISO 8601, lengths of time in seconds, others as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return float(value)
        case Enum():
            return value.value
        case UUID():
            return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def cell_text(value: object) -> str:
    """A value in a table; nothing where there is none."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return figure(value)
        case datetime():
            return time_text(value)
        case timedelta():
            return duration_text(value)
        case str():
            return value
        case Sequence():
            return ", ".join(map(cell_text, value))
        case _:
            return str(value)


def time_text(time: datetime) -> str:
    """A moment to the second, with its zone."""
    return time.isoformat(" ", "seconds")


def duration_text(duration: timedelta) -> str:
    """A length of time to the second."""
    return str(timedelta(seconds=round(duration.total_seconds())))


def seconds_text(seconds: float | None) -> str:
    """A number of seconds to three digits, with the unit."""
    return "" if seconds is None else f"{figure(seconds)} s"


def bytes_text(amount: int | None) -> str:
    """A size as pg_size_pretty writes it."""
    if amount is None:
        return ""
    size = Decimal(amount)
    for unit in _UNITS[:-1]:
        if abs(size) < _LARGEST:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.0f} {_UNITS[-1]}"


def share_text(share: float | None) -> str:
    """A share of the batch's work, in percent."""
    return "" if share is None else f"{figure(100 * share)} %"
