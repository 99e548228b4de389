"""What engines that are told in SQL write alike: conditions of conditions, and comparisons with elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from dialect.expressions.array_elements import element_of, with_element, written_elements
from dialect.expressions.scalar import (
    And,
    ArrayComparison,
    IsNull,
    IsTruth,
    Not,
    Or,
    Quantifier,
    Scalar,
    Truth,
)


def condition(scalar: And | Or | Not | IsNull | IsTruth, write: Callable[[Scalar], str], same: str) -> str:
    """The condition over what `write` writes; `same` is the operator to which NULL is a value like others."""
    match scalar:
        case And(arguments=arguments):
            return f"({' AND '.join(map(write, arguments))})" if arguments else "TRUE"
        case Or(arguments=arguments):
            return f"({' OR '.join(map(write, arguments))})" if arguments else "FALSE"
        case Not(argument=argument):
            return f"(NOT {write(argument)})"
        case IsNull(argument=argument):
            return f"({write(argument)} IS NULL)"
        case IsTruth(argument=argument, truth=truth):
            return f"({write(argument)} {same} {'TRUE' if truth is Truth.TRUE else 'FALSE'})"
        case _:
            assert_never(scalar)


def over_elements(scalar: ArrayComparison) -> And | Or | None:
    """The comparisons with the elements of an array that is written out; None where it is computed."""
    stand_in = element_of(scalar.comparison)
    assert stand_in is not None
    elements = written_elements(scalar.array, stand_in.type)
    if elements is None:
        return None
    comparisons = tuple(with_element(scalar.comparison, element) for element in elements)
    return Or(comparisons) if scalar.quantifier is Quantifier.ANY else And(comparisons)
