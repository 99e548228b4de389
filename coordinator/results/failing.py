"""Errors of queries: as clients are told them, in the log, and which of them end more than one query."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import Connection

from catalog.consequences import is_of_values
from catalog.errors import ConnectionFailure, Error, Fenced, InternalError
from catalog.queries.running import Failure, Running


def failure_of(error: Exception) -> Failure:
    """The error as clients are told it; an unforeseen one is an internal error."""
    match error:
        case Error():
            return Failure(error.sqlstate, error.message, error.detail, error.hint, error.of_values)
        case psycopg.Error():
            diagnostics = error.diag
            message = diagnostics.message_primary or str(error)
            lost = ConnectionFailure if isinstance(error, psycopg.OperationalError) else InternalError
            state = error.sqlstate or lost.sqlstate
            of_values = is_of_values(state) or isinstance(error, psycopg.errors.FeatureNotSupported)
            return Failure(state, message, diagnostics.message_detail, diagnostics.message_hint, of_values)
        case _:
            return Failure(InternalError.sqlstate, f"internal error: {type(error).__name__}: {error}")


def log_failure(log: logging.Logger, query: Running, error: Exception, work: str = "result") -> None:
    """Log one line; for an unforeseen error also where it was raised."""
    foreseen = isinstance(error, Error | psycopg.Error)
    level = logging.INFO if foreseen else logging.ERROR
    trace = None if foreseen else error
    log.log(level, "standing query %s, its %s: %s", query, work, failure_of(error), exc_info=trace)


def ends_all(error: Exception, connection: Connection) -> bool:
    """Whether the error is not a single query's: then no other query can be computed either."""
    return isinstance(error, Fenced) or connection.closed


@contextmanager
def contained(log: logging.Logger, connection: Connection, query: Running, work: str) -> Iterator[None]:
    """Contain errors of one query's work: they are logged, and others go on."""
    try:
        yield
    except Exception as error:
        if ends_all(error, connection):
            raise
        log_failure(log, query, error, work)
