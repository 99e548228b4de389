"""Sums of numerics that may be NaN or infinite: these values are counted, and all others summed.

A sum is Infinity if any of its values is, unless one is NaN or -Infinity: then it is NaN. So two counts
decide it, and both can be taken back: of NaN and Infinity, and of NaN and -Infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from catalog.postgres import functions
from catalog.postgres.comparisons import EQUAL
from catalog.postgres.types import BOOLEAN, DEFAULT_COLLATION, FLOAT8, NUMERIC, TEXT, SqlType
from dialect.expressions.scalar import (
    BEYOND,
    LONG_SUM,
    And,
    Branch,
    Call,
    Case,
    Cast,
    CastMethod,
    Coalesce,
    Constant,
    IsNull,
    Not,
    Notation,
    Or,
    Scalar,
)

_TEXT: Final = SqlType(TEXT, collation=DEFAULT_COLLATION)
_FLOAT: Final = SqlType(FLOAT8)
_NUMERIC: Final = SqlType(NUMERIC)

_OF_FLOATS: Final = {
    functions.NUMERIC_ADD: functions.FLOAT8PL,
    functions.NUMERIC_SUB: functions.FLOAT8MI,
    functions.NUMERIC_MUL: functions.FLOAT8MUL,
    functions.NUMERIC_UMINUS: functions.FLOAT8UM,
    functions.NUMERIC_ABS: functions.ABS_FLOAT8,
    functions.ABS_NUMERIC: functions.FLOAT8ABS,
}
"""Addition, subtraction, multiplication, minus and abs of numerics; and the same of double precision."""

NOT_A_NUMBER: Final = "NaN"
INFINITE: Final = "Infinity"
NEGATIVE: Final = "-Infinity"


class Specials(NamedTuple):
    """Of an expression: its value where that is a number, else NULL, and what is known where it is none.

    `finite` is that for the digits it shows, and `number` for the sum.
    `upward` is a condition true of NaN and Infinity, `downward` one true of NaN and -Infinity. `beyond` is
    the number where it is too long to be summed with the others, which `number` then leaves out, else NULL.
    """

    number: Scalar
    finite: Scalar
    upward: Scalar
    downward: Scalar
    beyond: Scalar | None = None


def specials_of(
    scalar: Scalar,
    may_be_special: Callable[[Scalar], bool],
    named: Callable[[Scalar], Scalar],
    long: bool = False,
) -> Specials | None:
    """How special values of the expression are found; None if every value is finite.

    `may_be_special` decides it for operands that are no arithmetic, and `named` gives a column for one.
    `long`: some numbers may be too long to be summed as decimals.
    """
    operands = {leaf: named(leaf) for leaf in _leaves(scalar) if may_be_special(leaf)}
    if not operands:
        return None
    leaves, scalar = list(operands.values()), _over(scalar, operands)
    special = _or(*(_is(leaf, NOT_A_NUMBER, INFINITE, NEGATIVE) for leaf in leaves))
    number = Case((Branch(special, Constant(None, scalar.type)),), scalar, scalar.type)
    if leaves == [scalar]:
        upward, downward = _is(scalar, NOT_A_NUMBER, INFINITE), _is(scalar, NOT_A_NUMBER, NEGATIVE)
        if not long:
            return Specials(number, number, upward, downward)
        beyond = Call(BEYOND, "beyond", Notation.FUNCTION, (scalar,), 0, scalar.type)
        left_out = Or((special, Not(IsNull(beyond))))
        short = Case((Branch(left_out, Constant(None, scalar.type)),), scalar, scalar.type)
        return Specials(short, number, upward, downward, beyond)
    # Double precision has the same rules for infinities and NaN, and knows zero from other values.
    value = _as_float(scalar)
    return Specials(
        number,
        number,
        And((special, _float_is(value, NOT_A_NUMBER, INFINITE))),
        And((special, _float_is(value, NOT_A_NUMBER, NEGATIVE))),
    )


def with_specials(total: Scalar, upward: Scalar, downward: Scalar) -> Scalar:
    """The sum, from the sum of the finite values and the two counts."""
    branches: tuple[Branch, ...] = (
        Branch(And((upward, downward)), Constant(NOT_A_NUMBER, _NUMERIC)),
        Branch(upward, Constant(INFINITE, _NUMERIC)),
        Branch(downward, Constant(NEGATIVE, _NUMERIC)),
    )
    return Case(branches, total, _NUMERIC)


def long_sum(total: Scalar, numbers: Scalar) -> Scalar:
    """The sum with the array of long numbers that it leaves out, without trailing zeros."""
    known = Coalesce((total, Constant("0", _NUMERIC)), _NUMERIC)
    return Call(LONG_SUM, "long_sum", Notation.FUNCTION, (known, numbers), 0, _NUMERIC)


def _leaves(scalar: Scalar) -> list[Scalar]:
    """The operands of the arithmetic, each once."""
    match scalar:
        case Call(function=function, arguments=arguments) if function in _OF_FLOATS:
            return list(dict.fromkeys(leaf for argument in arguments for leaf in _leaves(argument)))
    return [scalar]


def _over(scalar: Scalar, operands: Mapping[Scalar, Scalar]) -> Scalar:
    match scalar:
        case Call(function=function, arguments=arguments) if function in _OF_FLOATS:
            return replace(scalar, arguments=tuple(_over(argument, operands) for argument in arguments))
    return operands.get(scalar, scalar)


def _as_float(scalar: Scalar) -> Scalar:
    match scalar:
        case Call(function=function, arguments=arguments) if function in _OF_FLOATS:
            values = tuple(map(_as_float, arguments))
            return replace(scalar, function=_OF_FLOATS[function], arguments=values, type=_FLOAT)
    return Cast(scalar, CastMethod.FUNCTION, functions.FLOAT8_NUMERIC, _FLOAT)


def _is(value: Scalar, *words: str) -> Scalar:
    text = Cast(value, CastMethod.TEXT, 0, _TEXT)
    return _or(*(_equal(EQUAL[TEXT], text, Constant(word, _TEXT)) for word in words))


def _float_is(value: Scalar, *words: str) -> Scalar:
    return _or(*(_equal(EQUAL[FLOAT8], value, Constant(word, _FLOAT)) for word in words))


def _equal(function: int, left: Scalar, right: Scalar) -> Scalar:
    collation = DEFAULT_COLLATION if function == EQUAL[TEXT] else 0
    return Call(function, "=", Notation.OPERATOR, (left, right), collation, BOOLEAN)


def _or(*conditions: Scalar) -> Scalar:
    return conditions[0] if len(conditions) == 1 else Or(conditions)
