"""What an error means for the query that was worked, and how long it is left alone then."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from typing import Final

import psycopg
from psycopg import Connection

from catalog.backoff import Backoff
from catalog.consequences import Consequence, consequence_of
from catalog.errors import Error, Fenced
from catalog.running import Failure, Running
from dialect.statements.render import quoted_name
from dialect.statements.statement import Name

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 300.0
_LONGEST_OF_THE_MACHINE_SECONDS: Final = 20.0


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


def status_after(failure: Failure) -> str:
    """The status of a query that failed so."""
    return "suspended" if consequence_of(failure.sqlstate) is Consequence.SUSPEND else "error"


def needs_resume(query: Running) -> bool:
    """Whether the query stays as it is until its owner does something."""
    if query.status != "error" or query.sqlstate is None:
        return query.status == "suspended"
    return consequence_of(query.sqlstate) in (Consequence.SUSPEND, Consequence.CHANGE)


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
    hint = f"ALTER STANDING QUERY {quoted_name(Name(query.schema, query.name))} RESUME"
    return Failure("55000", f'standing query "{query.name}" is suspended', query.detail, hint)


@dataclass(frozen=True, slots=True)
class Patience:
    """Since when what failed is left alone, and for how long."""

    backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_SECONDS, _LONGEST_SECONDS))
    since: float = float("-inf")

    def is_over(self, asked: bool) -> bool:
        """Whether it may be tried again; soon, where somebody has asked for it."""
        seconds = self.backoff.seconds
        return time.monotonic() >= self.since + (min(seconds, _FIRST_SECONDS) if asked else seconds)

    def longer(self, is_of_the_machine: bool = False) -> Patience:
        """The patience after one more failure."""
        longest = _LONGEST_OF_THE_MACHINE_SECONDS if is_of_the_machine else _LONGEST_SECONDS
        return Patience(replace(self.backoff, longest=longest).longer(), time.monotonic())
