"""Calls of functions of pg_proc, and casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from catalog.postgres.types import BPCHAR, NO_TYPMOD, SqlType
from executors.reference.values.casts import CASTS, LENGTHS
from executors.reference.values.comparisons import COMPARISONS
from executors.reference.values.dates import DATES
from executors.reference.values.fields import FIELDS
from executors.reference.values.floats import FLOATS
from executors.reference.values.input import read
from executors.reference.values.integers import INTEGERS
from executors.reference.values.numerics import NUMERICS
from executors.reference.values.output import padded, write
from executors.reference.values.text import TEXTS
from executors.reference.values.values import Definitions, Value, settled


class NotDefined(NotImplementedError):
    """A function that the reference has no definition of."""


def _concatenated(values: Sequence[Value], types: Sequence[SqlType]) -> Value:
    return "".join(write(value, type) for value, type in zip(values, types, strict=True) if value is not None)


def _joined(values: Sequence[Value], types: Sequence[SqlType]) -> Value:
    pairs = zip(values[1:], types[1:], strict=True)
    texts = [write(value, type) for value, type in pairs if value is not None]
    return values[0].join(texts) if isinstance(values[0], str) else None


def _appended(values: Sequence[Value], types: Sequence[SqlType]) -> Value:
    """Text with the text that a cast makes of the other value."""
    pairs = list(zip(values, types, strict=True))
    if any(value is None for value, _ in pairs):
        return None
    return "".join(
        str(value).lower() if isinstance(value, bool) else write(value, type) for value, type in pairs
    )


def _on_padded(function: Callable[..., Value]) -> Callable[[Sequence[Value], Sequence[SqlType]], Value]:
    """The first argument with its padding, as few functions see it."""

    def apply(values: Sequence[Value], types: Sequence[SqlType]) -> Value:
        if any(value is None for value in values):
            return None
        return function(padded(str(values[0]), types[0]), *values[1:])

    return apply


FUNCTIONS: Final[Definitions] = {
    **COMPARISONS,
    **INTEGERS,
    **NUMERICS,
    **FLOATS,
    **TEXTS,
    **DATES,
    **FIELDS,
    **CASTS,
}
"""What gives NULL for any NULL."""

LENIENT: Final[Definitions] = {
    3058: ("concat", _concatenated),
    3059: ("concat_ws", _joined),
    2003: ("textanycat", _appended),
    2004: ("anytextcat", _appended),
    1631: ("bpcharlike", _on_padded(FUNCTIONS[850][1])),
    1632: ("bpcharnlike", _on_padded(FUNCTIONS[851][1])),
    1660: ("bpchariclike", _on_padded(FUNCTIONS[1633][1])),
    1661: ("bpcharicnlike", _on_padded(FUNCTIONS[1634][1])),
    1375: ("octet_length", _on_padded(FUNCTIONS[1374][1])),
}
"""What has to know the types of its arguments, or gives something for NULL."""


def call(function: int, name: str, arguments: Sequence[Value], types: Sequence[SqlType]) -> Value:
    """What the function gives for values of these types."""
    if function in LENIENT:
        return LENIENT[function][1](arguments, types)
    if function not in FUNCTIONS:
        raise NotDefined(f"function {name} ({function})")
    if any(argument is None for argument in arguments):
        return None
    return settled(FUNCTIONS[function][1](*arguments))


def shortened(value: Value, function: int, type: SqlType) -> Value:
    """The value under the type's modifier, which the function applies; 0: it means nothing to values."""
    if function == 0 or type.typmod == NO_TYPMOD:
        return value
    if function not in LENGTHS:
        raise NotDefined(f"length function {function}")
    _, shorten = LENGTHS[function]
    if isinstance(value, tuple):
        return tuple(None if element is None else shorten(element, type.typmod) for element in value)
    return shorten(value, type.typmod)


def relabelled(value: Value, type: SqlType) -> Value:
    """The value as one of another type that has the same bytes; only bpchar has no trailing blanks here."""
    return value.rstrip(" ") if type.oid == BPCHAR and isinstance(value, str) else value


def reread(value: Value, source: SqlType, target: SqlType) -> Value:
    """The value by way of its text."""
    return read(write(value, source), SqlType(target.oid))
