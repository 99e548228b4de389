"""Which collation an expression has: PostgreSQL's rules of explicit, implicit and conflicting collations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from catalog.errors import FeatureNotSupported, IndeterminateCollation
from catalog.postgres.types import CONFLICTING, DEFAULT_COLLATION, NO_COLLATION
from dialect.bound.expression import Collate, Expression, Function, Operator
from dialect.expressions.scalar import Array, Case, Cast, Coalesce, Extreme, NullIf


class Strength(IntEnum):
    """How firmly a collation is held; a stronger one wins."""

    NONE = 0
    IMPLICIT = 1
    CONFLICT = 2
    EXPLICIT = 3


@dataclass(frozen=True, slots=True)
class Derivation:
    """A collation and how firmly it is held."""

    collation: int
    strength: Strength


_NOTHING: Final = Derivation(NO_COLLATION, Strength.NONE)


def derive(expressions: Iterable[Expression]) -> Derivation:
    """The collation that these agree on."""
    agreed = _NOTHING
    for expression in expressions:
        agreed = _merge(agreed, _derivation(expression))
    return agreed


def collation_for(purpose: str, expressions: Iterable[Expression]) -> int:
    """The collation by which these are compared, which they have to agree on.

    PostgreSQL finds out in the first row; nothing but the query text decides it.
    """
    agreed = derive(expressions)
    if agreed.strength is Strength.CONFLICT:
        raise IndeterminateCollation(
            f"could not determine which collation to use for {purpose}",
            hint="Use the COLLATE clause to set the collation explicitly.",
        )
    return agreed.collation


def result_collation(expressions: Iterable[Expression], type_collation: int) -> int:
    """Collation of what is computed from these, as a type whose own collation is the second argument."""
    if type_collation == NO_COLLATION:
        return NO_COLLATION
    agreed = derive(expressions)
    return type_collation if agreed.strength is Strength.NONE else agreed.collation


def _derivation(expression: Expression) -> Derivation:
    collation = expression.type.collation
    if collation == NO_COLLATION:
        return _NOTHING
    if collation == CONFLICTING:
        return Derivation(CONFLICTING, Strength.CONFLICT)
    if isinstance(expression, Collate):
        return Derivation(collation, Strength.EXPLICIT)
    return Derivation(collation, max(Strength.IMPLICIT, derive(_through(expression)).strength))


def _through(expression: Expression) -> tuple[Expression, ...]:
    """The arguments whose collation becomes that of the expression."""
    match expression:
        case (
            Operator(arguments=arguments)
            | Function(arguments=arguments)
            | Coalesce(arguments=arguments)
            | Extreme(arguments=arguments)
            | Array(elements=arguments)
        ):
            return arguments
        case Cast(argument=argument):
            return (argument,)
        case NullIf(equality=equality):
            return equality.arguments
        case Case(branches=branches, default=default):
            return (default, *(branch.result for branch in branches))
    return ()


def _merge(agreed: Derivation, other: Derivation) -> Derivation:
    if other.strength is not agreed.strength:
        return max(agreed, other, key=lambda derivation: derivation.strength)
    if other.collation == agreed.collation or agreed.strength is Strength.CONFLICT:
        return agreed
    if agreed.strength is Strength.EXPLICIT:
        raise FeatureNotSupported("two explicit collations in one expression")
    if agreed.collation == DEFAULT_COLLATION:
        return other
    if other.collation == DEFAULT_COLLATION:
        return agreed
    return Derivation(CONFLICTING, Strength.CONFLICT)
