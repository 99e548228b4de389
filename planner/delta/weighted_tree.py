"""Walks over weighted outcomes: knows every node, decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from planner.delta.weighted import (
    Among,
    Choose,
    Compute,
    Consolidate,
    First,
    Groups,
    Matched,
    Negate,
    Once,
    Pairs,
    Read,
    Rows,
    Sum,
    Tallies,
    Use,
    Weighted,
    Where,
)


def inputs(outcome: Weighted) -> tuple[Weighted, ...]:
    """What the node works on."""
    match outcome:
        case Read() | Use() | Rows():
            return ()
        case Where(input=child) | Compute(input=child) | Negate(input=child) | Consolidate(input=child):
            return (child,)
        case Once(input=child) | Tallies(input=child) | Groups(input=child) | First(input=child):
            return (child,)
        case Pairs(left=left, right=right) | Matched(left=left, right=right):
            return (left, right)
        case Among(input=child, of=of):
            return (child, of)
        case Choose(shortcut=shortcut, general=general):
            return (shortcut, general)
        case Sum(inputs=inputs_):
            return inputs_
        case _:
            assert_never(outcome)


def with_inputs(outcome: Weighted, new: tuple[Weighted, ...]) -> Weighted:
    """The node over other inputs."""
    match outcome:
        case Read() | Use() | Rows():
            return outcome
        case Where() | Compute() | Negate() | Consolidate() | Once() | Tallies() | Groups() | First():
            return replace(outcome, input=new[0])
        case Pairs() | Matched():
            return replace(outcome, left=new[0], right=new[1])
        case Among():
            return Among(new[0], new[1], outcome.keys)
        case Choose():
            return Choose(outcome.guard, new[0], new[1])
        case Sum():
            return Sum(new, outcome.fields)
        case _:
            assert_never(outcome)


def within(outcome: Weighted) -> Iterator[Weighted]:
    """The node and all below it, but not what its steps are made of."""
    yield outcome
    for input in inputs(outcome):
        yield from within(input)
