"""What an error means for the query that was worked, and how long it is left alone then."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import psycopg

from catalog.errors import Error
from catalog.running import Failure, Running

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 300.0

# Somebody was in the way, or stopped what we did: nothing that users need to be told.
_PASSING: Final = ("40001", "40P01", "55P03", "57014")
# Its owner has lost a right, or its answer was written to.
_SUSPENDING: Final = ("42501", "42809", "55000")
# A table or view that it reads is not what it was: other data do not help.
_LASTING: Final = (*_SUSPENDING, "0A000")


def failure_of(error: Error | psycopg.Error) -> Failure:
    """The error as clients are told it."""
    if isinstance(error, Error):
        return Failure(error.sqlstate, error.message, error.detail, error.hint)
    found = error.diag
    message = found.message_primary or str(error)
    return Failure(error.sqlstate or "XX000", message, found.message_detail, found.message_hint)


def is_passing(failure: Failure) -> bool:
    """Whether it is tried again and nothing said."""
    return failure.sqlstate in _PASSING


def status_after(failure: Failure) -> str:
    """How its query stands then."""
    return "suspended" if failure.sqlstate in _SUSPENDING else "error"


def needs_resume(query: Running) -> bool:
    """Whether the query stays as it is until its owner does something."""
    return query.status == "suspended" or (query.status == "error" and query.sqlstate in _LASTING)


def why_not(query: Running) -> Failure:
    """What a statement is told that waits for such a query."""
    if query.status == "error" and query.sqlstate is not None:
        return Failure(query.sqlstate, f'standing query "{query.name}" is in error', query.detail)
    hint = f"ALTER STANDING QUERY {query.name} RESUME"
    return Failure("55000", f'standing query "{query.name}" is suspended', query.detail, hint)


@dataclass(frozen=True, slots=True)
class Patience:
    """Until when a query that failed is left alone, and for how long after it fails again."""

    until: float = 0.0
    seconds: float = _FIRST_SECONDS

    def is_over(self) -> bool:
        """Whether it may be tried again."""
        return time.monotonic() >= self.until

    def longer(self) -> Patience:
        """It has failed again."""
        return Patience(time.monotonic() + self.seconds, min(2 * self.seconds, _LONGEST_SECONDS))
