"""Kinds of values that options of the command take, beside those that click has."""

from __future__ import annotations

import math
import os
import re
from datetime import timedelta
from typing import Final

import click

from dialect.statements.durations import span_seconds
from dialect.statements.sizes import UNITS, parse_size

MASTER: Final = re.compile(r"local(-cluster)?(\[[^\[\]]+\])?|spark://.+|yarn|k8s://.+")
REMOTE: Final = re.compile(r"sc://.+")
NOT_EMPTY: Final = re.compile(r".+", re.DOTALL)
_LONGEST_SECONDS: Final = 86400.0


class Size(click.ParamType[int, int | str]):
    """Bytes, written as PostgreSQL writes sizes."""

    name = "size"

    def convert(self, value: int | str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(value)
        except ValueError:
            self.fail(f"'{value}' is no size such as 3GB; {UNITS}.", param, ctx)


class Directory(click.Path):
    """A directory; an empty text, such as an unset variable of a script leaves, is not the current one."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """The path."""
        if value == "":
            self.fail("the name of a directory is empty.", param, ctx)
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A length of time that a clock can count: at most a day."""

    name = "seconds"

    def __init__(self, least: float) -> None:
        super().__init__(least, _LONGEST_SECONDS)

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number of seconds."""
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):  # neither below the least nor above the most
            self.fail(f"'{value}' is not a number of seconds.", param, ctx)
        return seconds


class Span(click.ParamType[timedelta, timedelta | str]):
    """A length of time, written as PostgreSQL writes intervals."""

    name = "span"

    def __init__(self, least_seconds: int) -> None:
        self._least = timedelta(seconds=least_seconds)

    def convert(
        self, value: timedelta | str, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The length of time."""
        if isinstance(value, timedelta):
            return value
        try:
            span = timedelta(seconds=float(span_seconds(value)))
        except ValueError:
            self.fail(f"'{value}' is no length of time such as '1 day' or '90 minutes'.", param, ctx)
        if span < self._least:
            self.fail(f"'{value}' is less than {self._least}.", param, ctx)
        return span


class Matching(click.ParamType[str, str]):
    """A text of one of the forms that work."""

    name = "text"

    def __init__(self, pattern: re.Pattern[str], forms: str) -> None:
        self._pattern = pattern
        self._forms = forms

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        if not self._pattern.fullmatch(value):
            self.fail(f"'{value}' is not {self._forms}.", param, ctx)
        return value
