"""What to do about errors that may pass: say each once, wait longer each time, try again."""

from __future__ import annotations

import logging
import time
from typing import Final

from catalog.errors import Error
from catalog.wording import one_line

_SHORTEST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 10.0
"""Shorter than the patience of statements that wait for a coordinator."""


def in_one_line(error: BaseException) -> str:
    """An error for the log and for users."""
    if isinstance(error, Error):
        detail = f": {error.detail.rstrip('.')}" if error.detail else ""
        return f"{error.message}{detail}" + (f" ({error.hint})" if error.hint else "")
    return one_line(str(error)) or type(error).__name__


class Reports:
    """A log in which a condition that lasts stands once."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._said = ""

    def say(self, what: str, error: BaseException) -> str:
        """Log it, unless it was the last thing said; the error in one line."""
        text = in_one_line(error)
        self._log.log(logging.DEBUG if text == self._said else logging.ERROR, "%s: %s", what, text)
        self._said = text
        return text

    def clear(self) -> None:
        """Forget the last error: it has passed."""
        self._said = ""


class Backoff:
    """How long to wait before the next attempt; who has worked for a while begins anew."""

    def __init__(self) -> None:
        self._seconds = _SHORTEST_SECONDS
        self._began = time.monotonic()

    def begin(self) -> None:
        """Note that an attempt begins."""
        self._began = time.monotonic()

    def lasted(self) -> float:
        """How many seconds ago the attempt began."""
        return time.monotonic() - self._began

    def seconds(self) -> float:
        """How long to wait now that the attempt has failed."""
        if time.monotonic() - self._began > _LONGEST_SECONDS:
            self._seconds = _SHORTEST_SECONDS
        waited = self._seconds
        self._seconds = min(2 * waited, _LONGEST_SECONDS)
        return waited
