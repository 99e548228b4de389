"""Walks over scalar expressions: knows every kind, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias, assert_never

from dialect.scalar import (
    And,
    Array,
    ArrayComparison,
    Branch,
    Call,
    Case,
    Cast,
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
    Reference,
    Scalar,
)

Change: TypeAlias = Callable[[Scalar], Scalar]


def arguments(scalar: Scalar) -> tuple[Scalar, ...]:
    """The expressions directly inside this one."""
    match scalar:
        case Reference() | Constant() | Element():
            return ()
        case Call(arguments=these) | And(arguments=these) | Or(arguments=these):
            return these
        case Coalesce(arguments=these) | Extreme(arguments=these) | Array(elements=these):
            return these
        case Cast(argument=argument) | Not(argument=argument):
            return (argument,)
        case IsNull(argument=argument) | IsTruth(argument=argument):
            return (argument,)
        case IsDistinct(equality=equality) | NullIf(equality=equality):
            return (equality,)
        case Case(branches=branches, default=default):
            return (*(part for each in branches for part in (each.condition, each.result)), default)
        case ArrayComparison(comparison=comparison, array=array):
            return (comparison, array)
        case _:
            assert_never(scalar)


def with_arguments(scalar: Scalar, these: tuple[Scalar, ...]) -> Scalar:
    """The expression over other arguments, as many as `arguments` gives; AND and OR stay flat."""
    match scalar:
        case Reference() | Constant() | Element():
            return scalar
        case And():
            return And(tuple(part for each in these for part in _flat(And, each)))
        case Or():
            return Or(tuple(part for each in these for part in _flat(Or, each)))
        case Call() | Coalesce() | Extreme():
            return replace(scalar, arguments=these)
        case Array():
            return replace(scalar, elements=these)
        case Cast() | Not() | IsNull() | IsTruth():
            return replace(scalar, argument=these[0])
        case IsDistinct() | NullIf():
            return replace(scalar, equality=_call(these[0]))
        case Case(type=type_):
            pairs = zip(these[:-1:2], these[1:-1:2], strict=True)
            return Case(tuple(Branch(*pair) for pair in pairs), these[-1], type_)
        case ArrayComparison(quantifier=quantifier):
            return ArrayComparison(quantifier, _call(these[0]), these[1])
        case _:
            assert_never(scalar)


def transform_scalar(scalar: Scalar, change: Change) -> Scalar:
    """Every expression in this one replaced, from the leaves up; the same object where nothing changes."""
    before = arguments(scalar)
    if before:
        after = tuple(transform_scalar(each, change) for each in before)
        if any(new is not old for new, old in zip(after, before, strict=True)):
            scalar = with_arguments(scalar, after)
    return change(scalar)


def inside(scalar: Scalar) -> Iterator[Scalar]:
    """The expression and all that stand inside it."""
    waiting = [scalar]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += arguments(found)


def _flat(kind: type[And | Or], scalar: Scalar) -> tuple[Scalar, ...]:
    return arguments(scalar) if isinstance(scalar, kind) else (scalar,)


def _call(scalar: Scalar) -> Call:
    assert isinstance(scalar, Call), scalar
    return scalar
