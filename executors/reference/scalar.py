"""What a scalar expression is in a row, with PostgreSQL's semantics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, assert_never

from catalog.postgres.types import SqlType
from dialect.expressions.scalar import (
    And,
    Array,
    ArrayComparison,
    Call,
    Case,
    Cast,
    CastMethod,
    Coalesce,
    Constant,
    Element,
    Extreme,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    NullIf,
    Or,
    Quantifier,
    Reference,
    Scalar,
    Truth,
)
from executors.reference.values.functions import call, relabelled, reread, shortened
from executors.reference.values.input import read
from executors.reference.values.values import ELEMENTS, Value, order_key

Columns: TypeAlias = Mapping[int, Value]

_ELEMENT: Final = -1  # the number under which a quantified comparison puts the element it looks at


def compute(scalar: Scalar, columns: Columns) -> Value:
    """The value of the expression, given the columns it refers to."""
    match scalar:
        case Reference(column=column):
            return columns[column]
        case Element():
            return columns[_ELEMENT]
        case Constant(text=text, type=type):
            return None if text is None else read(text, type)
        case Call(function=function, name=name, arguments=arguments):
            values = [compute(argument, columns) for argument in arguments]
            return call(function, name, values, [argument.type for argument in arguments])
        case Cast():
            return _cast(scalar, compute(scalar.argument, columns))
        case And(arguments=arguments):
            return _conjunction(compute(argument, columns) for argument in arguments)
        case Or(arguments=arguments):
            return _negation(_conjunction(_negation(compute(argument, columns)) for argument in arguments))
        case Not(argument=argument):
            return _negation(compute(argument, columns))
        case IsNull(argument=argument):
            return compute(argument, columns) is None
        case IsTruth(argument=argument, truth=truth):
            return compute(argument, columns) is (truth is Truth.TRUE)
        case _:
            return _compute_conditional(scalar, columns)


def _compute_conditional(
    scalar: IsDistinct | Case | Coalesce | NullIf | Extreme | Array | ArrayComparison, columns: Columns
) -> Value:
    match scalar:
        case IsDistinct(equality=equality):
            nulls = [compute(argument, columns) is None for argument in equality.arguments]
            return nulls[0] is not nulls[1] if any(nulls) else _negation(compute(equality, columns))
        case Case(branches=branches, default=default):
            chosen = (branch.result for branch in branches if holds(branch.condition, columns))
            return compute(next(chosen, default), columns)
        case Coalesce(arguments=arguments):
            values = (compute(argument, columns) for argument in arguments)
            return next((value for value in values if value is not None), None)
        case NullIf(equality=equality):
            return None if holds(equality, columns) else compute(equality.arguments[0], columns)
        case Extreme(greatest=greatest, arguments=arguments):
            present = [value for argument in arguments if (value := compute(argument, columns)) is not None]
            return (max if greatest else min)(present, key=order_key, default=None)
        case Array(elements=elements):
            return tuple(compute(element, columns) for element in elements)
        case ArrayComparison():
            return _compare_elements(scalar, columns)
        case _:
            assert_never(scalar)


def holds(condition: Scalar, columns: Columns) -> bool:
    """Whether the condition is true: not false, not NULL."""
    return compute(condition, columns) is True


def _conjunction(values: Iterable[Value]) -> bool | None:
    unknown = False
    for value in values:
        if value is False:
            return False
        unknown = unknown or value is None
    return None if unknown else True


def _negation(value: Value) -> bool | None:
    return None if value is None else not value


def _compare_elements(scalar: ArrayComparison, columns: Columns) -> bool | None:
    array = compute(scalar.array, columns)
    if array is None:
        return None
    assert isinstance(array, tuple)
    outcomes = (compute(scalar.comparison, {**columns, _ELEMENT: element}) for element in array)
    if scalar.quantifier is Quantifier.ALL:
        return _conjunction(outcomes)
    return _negation(_conjunction(_negation(outcome) for outcome in outcomes))


def _cast(scalar: Cast, value: Value) -> Value:
    source: SqlType = scalar.argument.type
    if value is None:
        return None
    match scalar.method:
        case CastMethod.FUNCTION:
            return call(scalar.function, "cast", [value], [source])
        case CastMethod.RELABEL:
            return relabelled(value, scalar.type)
        case CastMethod.TEXT:
            return reread(value, source, scalar.type)
        case CastMethod.LENGTH:
            return shortened(value, scalar.function, scalar.type)
        case CastMethod.ELEMENTS:
            assert isinstance(value, tuple)
            return tuple(_cast_element(scalar, element) for element in value)
        case _:
            assert_never(scalar.method)


def _cast_element(scalar: Cast, element: Value) -> Value:
    return (
        element
        if scalar.function == 0
        else call(scalar.function, "cast", [element], [SqlType(ELEMENTS[scalar.argument.type.oid])])
    )
