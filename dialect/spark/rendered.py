"""Pieces of Spark SQL that know how their value is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, assert_never

from catalog.postgres.storage import (
    Decimal,
    ListOf,
    Padded,
    Plain,
    Shaped,
    Storage,
    Written,
)
from dialect.expressions.rendered import Builder as Builder
from dialect.expressions.rendered import Number as Number
from dialect.expressions.rendered import Rendered as Rendered

_NAMES: Final = {
    Plain.BOOLEAN: "BOOLEAN",
    Plain.INT16: "SMALLINT",
    Plain.INT32: "INT",
    Plain.INT64: "BIGINT",
    Plain.FLOAT32: "FLOAT",
    Plain.FLOAT64: "DOUBLE",
    Plain.TEXT: "STRING",
    Plain.JSONB: "STRING",
    Plain.BYTES: "BINARY",
    Plain.DATE: "DATE",
    Plain.TIME: "BIGINT",
    Plain.TIMESTAMP: "TIMESTAMP_NTZ",
    Plain.TIMESTAMPTZ: "TIMESTAMP",
    Plain.INTERVAL: "STRUCT<months: INT, days: INT, microseconds: BIGINT>",
}
_SIGNED_DIGITS: Final = 34
_LONG_SQL: Final = 500
INTERVAL_PARTS: Final = ("months", "days", "microseconds")


def spark_type(storage: Storage) -> str:
    """The Spark type of a column that is stored so."""
    match storage:
        case Plain():
            return _NAMES[storage]
        case Decimal(precision=precision, scale=scale):
            return f"DECIMAL({max(1, precision)}, {scale})"
        case Padded():
            return "STRING"
        case ListOf(element=element):
            return f"ARRAY<{spark_type(element)}>"
        case Written(value=value):
            return f"STRUCT<value: {spark_type(value)}, text: STRING>"
        case Shaped(elements=elements):
            return f"STRUCT<elements: {spark_type(elements)}, shape: ARRAY<INT>>"
        case _:
            assert_never(storage)


def text_literal(text: str) -> str:
    """A string as Spark SQL; a dollar sign would begin a variable, which Spark replaces also in strings."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def cast(sql: str, storage: Storage) -> Rendered:
    """The value as this type, with an error where it does not fit."""
    return Rendered(f"CAST({sql} AS {spark_type(storage)})", storage)


def opposite(number: Rendered) -> str:
    """A decimal with the other sign: that of Spark rounds to 34 digits."""
    return f"(-({number.sql}))" if _has_few_digits(number) else f"(0BD - {number.sql})"


def absolute(number: Rendered) -> str:
    """A decimal without its sign: that of Spark rounds a negative one to 34 digits."""
    if _has_few_digits(number):
        return f"abs({number.sql})"
    return f"greatest({number.sql}, {opposite(number)})"


def _has_few_digits(number: Rendered) -> bool:
    return isinstance(number.storage, Decimal) and number.storage.precision <= _SIGNED_DIGITS


def failing(condition: str, sqlstate: str, message: str, otherwise: str) -> str:
    """The value, but an error where the condition is true."""
    raised = f"raise_error({text_literal(f'{sqlstate}: {message}')})"
    return f"CASE WHEN {condition} THEN {raised} ELSE {otherwise} END"


def named(name: str, value: str, outcome: str) -> str:
    """The outcome, in which a name stands for a value: that is written, and computed, once."""
    return f"element_at(transform(array({value}), {name} -> {outcome}), 1)"


def shared(arguments: Sequence[Rendered], build: Callable[[Sequence[Rendered]], Rendered]) -> Rendered:
    """What is built of the arguments; those that are long and that it writes again get a name first.

    Else a text would grow with each call around it by as many times as the call writes an argument. Numerics
    that are computed as Number see to that themselves.
    """
    built = build(arguments)
    if built.number is not None:
        return built
    names = {
        f"v{place}": argument
        for place, argument in enumerate(arguments)
        if len(argument.sql) > _LONG_SQL and argument.number is None and built.sql.count(argument.sql) > 1
    }
    if not names:
        return built
    struct = ", ".join(f"'{name}', {argument.sql}" for name, argument in names.items())
    given = [
        replace(argument, sql=f"shared.v{place}") if f"v{place}" in names else argument
        for place, argument in enumerate(arguments)
    ]
    return replace(built, sql=named("shared", f"named_struct({struct})", build(given).sql))


def interval(known: str, *parts: str) -> Rendered:
    """An interval of months, days and microseconds where the condition is true, else NULL."""
    named = ", ".join(f"'{name}', {part}" for name, part in zip(INTERVAL_PARTS, parts, strict=True))
    return cast(f"CASE WHEN {known} THEN named_struct({named}) END", Plain.INTERVAL)
