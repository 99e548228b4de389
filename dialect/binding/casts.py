"""Casts: those that the text asks for, and those that PostgreSQL adds where values of several types meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from catalog.postgres.signatures import Signatures
from catalog.postgres.types import (
    DATE,
    INTERVAL,
    NO_TYPMOD,
    NUMERIC,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    SqlType,
)
from dialect.binding.collation import result_collation
from dialect.binding.resolve import common_type, find_cast, find_length_function
from dialect.bound.expression import Expression
from dialect.expressions.scalar import Cast, CastMethod, Constant

_SPECIAL: Final = ("nan", "infinity", "inf")
_UNBOUNDED: Final = (NUMERIC, DATE, TIMESTAMP, TIMESTAMPTZ)


def computed_type(
    signatures: Signatures, oid: int, arguments: Sequence[Expression], typmod: int = NO_TYPMOD
) -> SqlType:
    """The type of a value computed from these arguments: its collation is theirs, if it has one.

    A value that keeps their modifier may be one of them; a numeric may be NaN or infinite where one of them
    is, and so may a date, a timestamp or an interval.
    """
    kept = typmod != NO_TYPMOD or oid in _UNBOUNDED or (oid == INTERVAL and signatures.has_infinite_intervals)
    wide = kept and any(argument.type.wide for argument in arguments)
    return SqlType(oid, typmod, result_collation(arguments, signatures.types[oid].collation), wide)


def coerced(signatures: Signatures, expression: Expression, oid: int) -> Expression:
    """The expression as this type, without a modifier where the type changes."""
    if expression.type.oid == oid:
        return expression
    if isinstance(expression, Constant) and expression.type.oid == UNKNOWN:
        wide = oid in _UNBOUNDED and (expression.text or "").strip(" +-").lower() in _SPECIAL
        return Constant(expression.text, SqlType(oid, NO_TYPMOD, signatures.types[oid].collation, wide))
    method, function = find_cast(signatures, expression.type.oid, oid)
    return Cast(expression, method, function, computed_type(signatures, oid, (expression,)))


def cast(signatures: Signatures, expression: Expression, target: SqlType) -> Expression:
    """An explicit cast: first to the type, then to the modifier."""
    result = coerced(signatures, expression, target.oid)
    if result.type.typmod == target.typmod:
        return result
    if target.typmod == NO_TYPMOD:
        method, function = CastMethod.RELABEL, 0
    else:
        method, function = (
            CastMethod.LENGTH,
            find_length_function(signatures, _scalar(signatures, target.oid)),
        )
    type_ = replace(computed_type(signatures, target.oid, (result,)), typmod=target.typmod)
    return Cast(result, method, function, type_)


def as_common_type(
    signatures: Signatures, expressions: Sequence[Expression], where: str
) -> tuple[tuple[Expression, ...], SqlType]:
    """The expressions as one type, and that type: its modifier and collation are theirs where they agree."""
    oid = common_type(signatures, [expression.type.oid for expression in expressions], where)
    typmods = {expression.type.typmod for expression in expressions}
    same = len(typmods) == 1 and all(expression.type.oid == oid for expression in expressions)
    results = tuple(coerced(signatures, expression, oid) for expression in expressions)
    return results, computed_type(signatures, oid, results, typmods.pop() if same else NO_TYPMOD)


def _scalar(signatures: Signatures, oid: int) -> int:
    return signatures.types[oid].element or oid
