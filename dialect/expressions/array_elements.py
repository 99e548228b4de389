"""Arrays written out, as the values that a comparison with ANY or ALL looks at one by one."""

from __future__ import annotations

from dataclasses import replace

from catalog.postgres.types import SqlType
from dialect.expressions.array_text import elements_of
from dialect.expressions.scalar import Array, Call, Cast, CastMethod, Constant, Element, Scalar


def written_elements(array: Scalar, type_: SqlType) -> tuple[Scalar, ...] | None:
    """The elements, each of this type, or None where the array is computed."""
    match array:
        case Array(elements=elements):
            return elements
        case Constant(text=str(text)):
            return tuple(Constant(word, type_) for word in elements_of(text))
        case Cast(argument=argument, method=CastMethod.RELABEL):
            return written_elements(argument, type_)
        case Cast(argument=Array(elements=elements), method=CastMethod.ELEMENTS, function=function):
            method = CastMethod.FUNCTION if function else CastMethod.RELABEL
            return tuple(Cast(element, method, function, type_) for element in elements)
    return None


def element_of(comparison: Call) -> Element | None:
    """The stand-in for the element among what is compared; it may be cast."""
    pending: list[Scalar] = list(comparison.arguments)
    while pending:
        match pending.pop():
            case Element() as element:
                return element
            case Cast(argument=argument):
                pending.append(argument)
            case Call(arguments=arguments):
                pending.extend(arguments)
    return None


def with_element(scalar: Scalar, value: Scalar) -> Scalar:
    """The comparison about this value instead of the stand-in."""
    match scalar:
        case Element():
            return value
        case Cast(argument=argument):
            return replace(scalar, argument=with_element(argument, value))
        case Call(arguments=arguments):
            return replace(scalar, arguments=tuple(with_element(argument, value) for argument in arguments))
    return scalar
