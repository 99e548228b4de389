"""Errors that may pass, in the log: each is said once."""

from __future__ import annotations

import logging

from catalog.errors import Error
from catalog.wording import one_line


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
