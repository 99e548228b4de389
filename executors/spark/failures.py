"""Errors in data, as Spark reports them and as PostgreSQL would."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from catalog.errors import (
    CannotConvert,
    CardinalityViolation,
    DatetimeOverflow,
    DiskFull,
    DivisionByZero,
    Error,
    InvalidPowerArgument,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
    OutOfMemory,
    ProgramLimitExceeded,
    SubstringError,
)
from catalog.postgres.storage import MAX_DIGITS

# What `dialect/spark/rendered.py` makes Spark raise begins with the state.
_RAISED: Final = re.compile(r"\[USER_RAISED_EXCEPTION\] ([0-9A-Z]{5}): ([^\n]*?)(?: SQLSTATE: P0001)?$", re.M)
_ERRORS: Final[Mapping[str, type[Error]]] = {
    error.sqlstate: error
    for error in (
        CannotConvert,
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
_DISK: Final = re.compile(r"No space left on device|Disk quota exceeded")
MORE_MEMORY: Final = "Give it more with --spark-memory."

# How an error is written by Spark, by itself or in the trace of another one that it caused.
_CONDITION: Final = re.compile(r"(?:^|: )\[([A-Z_]+)(?:\.[A-Z_]+)?\] ([^\n]*)", re.M)
_TYPES: Final[Mapping[str, str]] = {
    "SMALLINT": "smallint out of range",
    "INT": "integer out of range",
    "BIGINT": "bigint out of range",
    "FLOAT": "value out of range: overflow",
    "DOUBLE": "value out of range: overflow",
}
# Of sums of moments and intervals alone: those of numbers have a name.
_UNNAMED: Final = re.compile(r"\bArithmeticException: (?:long|integer) overflow")
_CAST: Final = re.compile(r'cannot be cast to "(\w+)')
_DIGITS: Final = re.compile(r"Decimal\((\d+), (\d+)\)")
_IN_THE_QUERY: Final = "for computing in a condition or an aggregate"
_FEWER_DIGITS: Final = (
    "The outermost select list, above all aggregates, is computed by PostgreSQL, and has no such limit. "
    "Elsewhere a cast to double precision may do."
)


FAILURES: Final = (PySparkException, Py4JJavaError)
"""What a statement ends with: the latter where its rows are handed over already."""


def first_line(error: Exception) -> str:
    """The first line of an error, without where in Spark it was raised."""
    text = str(error)
    return (text.partition("\n: ")[2] or text).splitlines()[0]


def as_error(error: PySparkException | Py4JJavaError) -> Error | None:
    """The error in data that this is, or that caused it, in PostgreSQL's words; None if it is none.

    What happens in a stage, a subquery or a broadcast of its own is the cause of an error of the whole.
    """
    trace = _trace(error)
    raised = _RAISED.search(trace)
    if raised and raised[1] in _ERRORS:
        hint = _FEWER_DIGITS if raised[2].endswith(_IN_THE_QUERY) else None
        return _ERRORS[raised[1]](raised[2], hint=hint)
    if _DISK.search(trace):
        hint = "Free space there. Nothing is lost, and it is tried again by itself."
        return DiskFull("the disk that Spark works on is full", detail=first_line(error), hint=hint)
    for condition, words in _CONDITION.findall(trace):
        if (known_error := _as_postgresql(condition, words)) is not None:
            return known_error
    if _UNNAMED.search(trace):
        return DatetimeOverflow("timestamp out of range")
    if _MEMORY.search(trace):
        return OutOfMemory("Spark has too little memory for this query", hint=MORE_MEMORY)
    return None


def _trace(error: PySparkException | Py4JJavaError) -> str:
    """The error with all that caused it: not every exception says that of itself."""
    server = getattr(error, "getStackTrace", None)  # of Spark Connect
    causes = server() if server is not None else getattr(error, "_stackTrace", None)
    return f"{error}\n{causes or ''}"


def _as_postgresql(condition: str, words: str) -> Error | None:
    """What PostgreSQL says where Spark has an error of this name and in these words."""
    match condition:
        case "DIVIDE_BY_ZERO" | "REMAINDER_BY_ZERO" | "INTERVAL_DIVIDED_BY_ZERO":
            return DivisionByZero("division by zero")
        case "ARITHMETIC_OVERFLOW" if "decimal" in words:
            return _too_many_digits()
        case "ARITHMETIC_OVERFLOW":
            # Of no type that is told; `dialect/spark/numbers/integers.py` computes all smaller ones as
            # bigint.
            return NumericValueOutOfRange(_TYPES["BIGINT"])
        case "CAST_OVERFLOW":
            cast = _CAST.search(words)
            return (
                NumericValueOutOfRange(_TYPES[cast[1]]) if cast and cast[1] in _TYPES else _too_many_digits()
            )
        case "NUMERIC_VALUE_OUT_OF_RANGE":
            return _field_overflow(words)
        case "NUMERIC_OUT_OF_SUPPORTED_RANGE":
            return _too_many_digits()
        case "DATETIME_OVERFLOW" | "DATETIME_FIELD_OUT_OF_BOUNDS":
            return DatetimeOverflow("date/time field value out of range")
        case "INTERVAL_ARITHMETIC_OVERFLOW":
            return DatetimeOverflow("interval out of range")
        case "SCALAR_SUBQUERY_TOO_MANY_ROWS":
            return CardinalityViolation("more than one row returned by a subquery used as an expression")
        case _:
            return None


def _too_many_digits() -> Error:
    """What no decimal of Spark's holds; PostgreSQL would compute it."""
    return NumericValueOutOfRange(
        f"a number has too many digits {_IN_THE_QUERY}",
        detail=f"There a number has at most {MAX_DIGITS} digits in all.",
        hint=_FEWER_DIGITS,
    )


def _field_overflow(words: str) -> Error:
    """The error, with PostgreSQL's DETAIL where a declared type, not the greatest, lacks the digits."""
    digits = _DIGITS.search(words)
    if digits is None or int(digits[1]) == MAX_DIGITS:
        return _too_many_digits()
    precision, scale = int(digits[1]), int(digits[2])
    limit = "1" if precision == scale else f"10^{precision - scale}"
    return NumericValueOutOfRange(
        "numeric field overflow",
        detail=f"A field with precision {precision}, scale {scale} must round to an absolute value "
        f"less than {limit}.",
    )
