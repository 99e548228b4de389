"""What an error means for the query that was worked, and how long it is left alone then."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import Connection

from catalog.errors import Error, Fenced
from catalog.running import Failure, Running

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 300.0
_LONGEST_OF_THE_MACHINE_SECONDS: Final = 20.0

# Somebody was in the way, or stopped what we did, or a session broke: nothing is wrong with the query.
_PASSING: Final = ("40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "08000", "08003", "08006")
# Its owner has lost a right, or its answer was written to.
_SUSPENDING: Final = ("42501", "42809", "55000")
# A table or view that it reads is not what it was: other data do not help.
_LASTING: Final = (*_SUSPENDING, "0A000")
# A disk, files or a program are not as they have to be: nobody tells when they are mended.
_OF_THE_MACHINE: Final = ("53100", "58030", "F0000")


def failure_of(error: Exception) -> Failure:
    """The error as clients are told it; one that nobody foresaw is an internal error, as PostgreSQL's are."""
    match error:
        case Error():
            return Failure(error.sqlstate, error.message, error.detail, error.hint)
        case psycopg.Error():
            told = error.diag
            message = told.message_primary or str(error)
            lost = "08006" if isinstance(error, psycopg.OperationalError) else "XX000"
            return Failure(error.sqlstate or lost, message, told.message_detail, told.message_hint)
        case _:
            return Failure("XX000", f"internal error: {type(error).__name__}: {error}")


def log_failure(log: logging.Logger, query: Running, error: Exception, work: str = "result") -> None:
    """One line for an error that queries may have, where it was raised for one that nobody foresaw."""
    foreseen = isinstance(error, Error | psycopg.Error)
    level = logging.INFO if foreseen else logging.ERROR
    trace = None if foreseen else error
    log.log(level, "standing query %s, its %s: %s", query, work, failure_of(error), exc_info=trace)


def ends_all(error: Exception, connection: Connection) -> bool:
    """Whether the error is no query's own: then no other one can be worked on either."""
    return isinstance(error, Fenced) or connection.closed


def is_passing(failure: Failure) -> bool:
    """Whether the query is tried again without telling users."""
    return failure.sqlstate in _PASSING


def is_of_the_machine(failure: Failure) -> bool:
    """Whether the same data may do well when something beside the query is mended."""
    return failure.sqlstate in _OF_THE_MACHINE


def status_after(failure: Failure) -> str:
    """The status of a query that failed so."""
    return "suspended" if failure.sqlstate in _SUSPENDING else "error"


def needs_resume(query: Running) -> bool:
    """Whether the query stays as it is until its owner does something."""
    return query.status == "suspended" or (query.status == "error" and query.sqlstate in _LASTING)


def is_blocked(query: Running) -> bool:
    """Whether nothing can be done for the query until somebody changes it, or a table that it reads."""
    return query.stopped is not None or needs_resume(query)


def why_not(query: Running) -> Failure:
    """What a statement is told that waits for such a query."""
    if query.stopped is not None and query.status != "suspended":
        hint = "It is tried again by itself, ever less often, and whenever a statement waits for it."
        return Failure("55000", f'standing query "{query.name}" is in error', query.stopped, hint)
    if query.status == "error" and query.sqlstate is not None:
        return Failure(query.sqlstate, f'standing query "{query.name}" is in error', query.detail)
    hint = f"ALTER STANDING QUERY {query.name} RESUME"
    return Failure("55000", f'standing query "{query.name}" is suspended', query.detail, hint)


@dataclass(frozen=True, slots=True)
class Patience:
    """Since when a query that failed is left alone, and for how long."""

    since: float = float("-inf")
    seconds: float = 0.0

    def is_over(self, asked: bool) -> bool:
        """Whether it may be tried again; soon, where somebody has asked for it."""
        return time.monotonic() >= self.since + (min(self.seconds, _FIRST_SECONDS) if asked else self.seconds)

    def longer(self, is_of_the_machine: bool = False) -> Patience:
        """The patience after one more failure: twice as long, up to a limit."""
        longest = _LONGEST_OF_THE_MACHINE_SECONDS if is_of_the_machine else _LONGEST_SECONDS
        return Patience(time.monotonic(), min(max(2 * self.seconds, _FIRST_SECONDS), longest))
