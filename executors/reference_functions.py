"""Calls of functions of pg_proc, and casts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from catalog.types import BPCHAR, NO_TYPMOD, SqlType
from executors.reference_casts import CASTS, LENGTHS
from executors.reference_comparisons import COMPARISONS
from executors.reference_floats import FLOATS
from executors.reference_input import read
from executors.reference_integers import INTEGERS
from executors.reference_numerics import NUMERICS
from executors.reference_output import write
from executors.reference_values import NAN, Definitions, Value


class NotDefined(NotImplementedError):
    """A function that the reference has no definition of."""


FUNCTIONS: Final[Definitions] = {**COMPARISONS, **INTEGERS, **NUMERICS, **FLOATS, **CASTS}


def call(function: int, name: str, arguments: Sequence[Value]) -> Value:
    """What the function gives; NULL for any NULL."""
    definition = FUNCTIONS.get(function)
    if definition is None:
        raise NotDefined(f"function {name} ({function})")
    if any(each is None for each in arguments):
        return None
    result = definition[1](*arguments)
    return NAN if isinstance(result, float) and math.isnan(result) else result


def shortened(value: Value, function: int, type: SqlType) -> Value:
    """The value under the type's modifier, which the function applies; 0: it means nothing to values."""
    if function == 0 or type.typmod == NO_TYPMOD:
        return value
    if function not in LENGTHS:
        raise NotDefined(f"length function {function}")
    _, shorten = LENGTHS[function]
    return (
        tuple(shorten(each, type.typmod) for each in value)
        if isinstance(value, tuple)
        else shorten(value, type.typmod)
    )


def relabelled(value: Value, type: SqlType) -> Value:
    """The value as one of another type that has the same bytes; only bpchar has no trailing blanks here."""
    return value.rstrip(" ") if type.oid == BPCHAR and isinstance(value, str) else value


def reread(value: Value, source: SqlType, target: SqlType) -> Value:
    """The value by way of its text."""
    return read(write(value, source), SqlType(target.oid))
