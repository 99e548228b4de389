"""Conditions as sets of conjuncts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from catalog.postgres.types import BOOLEAN
from dialect.expressions.scalar import And, Constant, Or, Scalar

TRUE: Final = Constant("true", BOOLEAN)
FALSE: Final = Constant("false", BOOLEAN)


def conjuncts(condition: Scalar) -> tuple[Scalar, ...]:
    """The conditions that must all be true; none for what is always true."""
    match condition:
        case And(arguments=arguments):
            return tuple(conjunct for argument in arguments for conjunct in conjuncts(argument))
        case _ if is_true(condition):
            return ()
    return (condition,)


def disjuncts(condition: Scalar) -> tuple[Scalar, ...]:
    """The conditions of which one must be true."""
    match condition:
        case Or(arguments=arguments):
            return tuple(disjunct for argument in arguments for disjunct in disjuncts(argument))
    return (condition,)


def conjunction(conditions: Iterable[Scalar]) -> Scalar:
    """All of the conditions, each once; of none: true."""
    flat = tuple(dict.fromkeys(conjunct for condition in conditions for conjunct in conjuncts(condition)))
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(conditions: Iterable[Scalar]) -> Scalar:
    """One of the conditions, each once; of none: false."""
    flat = tuple(dict.fromkeys(disjunct for condition in conditions for disjunct in disjuncts(condition)))
    if not flat:
        return FALSE
    return flat[0] if len(flat) == 1 else Or(flat)


def is_true(condition: Scalar) -> bool:
    """Whether the condition is the constant true, however it is spelled."""
    return isinstance(condition, Constant) and condition.type == BOOLEAN and condition.text in ("true", "t")


def is_never_true(condition: Scalar) -> bool:
    """Whether the condition is the constant false, or NULL."""
    return (
        isinstance(condition, Constant)
        and condition.type == BOOLEAN
        and condition.text in ("false", "f", None)
    )
