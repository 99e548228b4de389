"""Errors in data, as Spark reports them and as PostgreSQL would."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from catalog.errors import (
    CardinalityViolation,
    DatetimeOverflow,
    DivisionByZero,
    Error,
    InvalidPowerArgument,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
    OutOfMemory,
    ProgramLimitExceeded,
    SubstringError,
)

# What `dialect/spark_rendered.py` makes Spark raise begins with the state.
_RAISED: Final = re.compile(r"\[USER_RAISED_EXCEPTION\] ([0-9A-Z]{5}): ([^\n]*?)(?: SQLSTATE: P0001)?$", re.M)
_ERRORS: Final[Mapping[str, type[Error]]] = {
    each.sqlstate: each
    for each in (
        CardinalityViolation,
        DatetimeOverflow,
        DivisionByZero,
        InvalidPowerArgument,
        InvalidTextRepresentation,
        NumericValueOutOfRange,
        ProgramLimitExceeded,
        SubstringError,
    )
}
_MEMORY: Final = re.compile(
    r"OutOfMemory|UNABLE_TO_ACQUIRE_MEMORY|Not enough memory|GC overhead limit|maxResultSize|TaskResultLost"
)
MORE_MEMORY: Final = "Give it more with --spark-memory."
_MESSAGES: Final = {
    "22003": "value out of range",
    "22008": "date or time out of range",
    "22012": "division by zero",
}


FAILURES: Final = (PySparkException, Py4JJavaError)
"""What a statement ends with: the latter where its rows are handed over already."""


def first_line(error: Exception) -> str:
    """What Spark says, without where."""
    text = str(error)
    return (text.partition("\n: ")[2] or text).splitlines()[0]


def as_error(error: PySparkException | Py4JJavaError) -> Error | None:
    """The error in data that this is, None if it is none."""
    raised = _RAISED.search(str(error))
    if raised and raised[1] in _ERRORS:
        return _ERRORS[raised[1]](raised[2])
    state = error.getSqlState() if isinstance(error, PySparkException) else None
    if state in _MESSAGES:
        return _ERRORS[state](_MESSAGES[state])
    if _MEMORY.search(str(error)):
        return OutOfMemory("Spark has too little memory for this query", hint=MORE_MEMORY)
    return None
