"""Walks over scalar expressions: knows every kind, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias, assert_never

from dialect.expressions.scalar import (
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
        case Call(arguments=children) | And(arguments=children) | Or(arguments=children):
            return children
        case Coalesce(arguments=children) | Extreme(arguments=children) | Array(elements=children):
            return children
        case Cast(argument=argument) | Not(argument=argument):
            return (argument,)
        case IsNull(argument=argument) | IsTruth(argument=argument):
            return (argument,)
        case IsDistinct(equality=equality) | NullIf(equality=equality):
            return (equality,)
        case Case(branches=branches, default=default):
            return (*(part for branch in branches for part in (branch.condition, branch.result)), default)
        case ArrayComparison(comparison=comparison, array=array):
            return (comparison, array)
        case _:
            assert_never(scalar)


def with_arguments(scalar: Scalar, children: tuple[Scalar, ...]) -> Scalar:
    """The expression over other arguments, as many as `arguments` gives; AND and OR stay flat."""
    match scalar:
        case Reference() | Constant() | Element():
            return scalar
        case And():
            return And(tuple(part for child in children for part in _flat(And, child)))
        case Or():
            return Or(tuple(part for child in children for part in _flat(Or, child)))
        case Call() | Coalesce() | Extreme():
            return replace(scalar, arguments=children)
        case Array():
            return replace(scalar, elements=children)
        case Cast() | Not() | IsNull() | IsTruth():
            return replace(scalar, argument=children[0])
        case IsDistinct() | NullIf():
            return replace(scalar, equality=_call(children[0]))
        case Case(type=type_):
            pairs = zip(children[:-1:2], children[1:-1:2], strict=True)
            return Case(tuple(Branch(*pair) for pair in pairs), children[-1], type_)
        case ArrayComparison(quantifier=quantifier):
            return ArrayComparison(quantifier, _call(children[0]), children[1])
        case _:
            assert_never(scalar)


def transform_scalar(scalar: Scalar, change: Change) -> Scalar:
    """Every expression in this one replaced, from the leaves up; the same object where nothing changes."""
    before = arguments(scalar)
    if before:
        after = tuple(transform_scalar(child, change) for child in before)
        if any(new is not old for new, old in zip(after, before, strict=True)):
            scalar = with_arguments(scalar, after)
    return change(scalar)


def inside(scalar: Scalar) -> Iterator[Scalar]:
    """The expression and all that stand inside it."""
    waiting = [scalar]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += arguments(part)


def _flat(kind: type[And | Or], scalar: Scalar) -> tuple[Scalar, ...]:
    return arguments(scalar) if isinstance(scalar, kind) else (scalar,)


def _call(scalar: Scalar) -> Call:
    assert isinstance(scalar, Call), scalar
    return scalar
