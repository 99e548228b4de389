"""Walks over weighted outcomes: knows every node, decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from planner.delta.weighted import (
    AsSet,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaProject,
    First,
    Groups,
    KeySemiJoin,
    Negate,
    Pairs,
    PartialAggregate,
    Read,
    Rows,
    SemiJoin,
    StepRef,
    Sum,
    Weighted,
)


def inputs(outcome: Weighted) -> tuple[Weighted, ...]:
    """The inputs of the node."""
    match outcome:
        case Read() | StepRef() | Rows():
            return ()
        case (
            DeltaFilter(input=child)
            | DeltaProject(input=child)
            | Negate(input=child)
            | Consolidate(input=child)
        ):
            return (child,)
        case AsSet(input=child) | PartialAggregate(input=child) | Groups(input=child) | First(input=child):
            return (child,)
        case Pairs(left=left, right=right) | SemiJoin(left=left, right=right):
            return (left, right)
        case KeySemiJoin(input=child, of=of):
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
        case Read() | StepRef() | Rows():
            return outcome
        case (
            DeltaFilter()
            | DeltaProject()
            | Negate()
            | Consolidate()
            | AsSet()
            | PartialAggregate()
            | Groups()
            | First()
        ):
            return replace(outcome, input=new[0])
        case Pairs() | SemiJoin():
            return replace(outcome, left=new[0], right=new[1])
        case KeySemiJoin():
            return KeySemiJoin(new[0], new[1], outcome.keys)
        case Choose():
            return Choose(outcome.guard, new[0], new[1])
        case Sum():
            return Sum(new, outcome.fields)
        case _:
            assert_never(outcome)


def within(outcome: Weighted) -> Iterator[Weighted]:
    """The node and all nodes below it, without those inside the steps that it refers to."""
    yield outcome
    for input in inputs(outcome):
        yield from within(input)
