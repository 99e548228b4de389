"""The linear delta rules, and what all delta rules share.

X0 and X1 are a bag's content before and after a firing, dX its change: X1 = X0 + dX, where + adds weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from planner.algebra import logical
from planner.algebra.columns import passing
from planner.algebra.logical import Field, Filter, Project, Union
from planner.delta.weighted import (
    Consolidate,
    DeltaFilter,
    DeltaProject,
    Moment,
    Read,
    Step,
    StepRef,
    Sum,
    Weighted,
    fields,
)


@dataclass(frozen=True, slots=True)
class Moments:
    """A bag before a firing, its change, and the bag after it."""

    before: Weighted
    change: Weighted
    after: Weighted

    def map(self, rule: Callable[[Weighted], Weighted]) -> Moments:
        """The moments of a node that applies the function to each moment."""
        return Moments(rule(self.before), rule(self.change), rule(self.after))


def read(buffer: int, columns: tuple[Field, ...]) -> Moments:
    """The content of a buffer."""
    return Moments(
        *(Read(buffer, moment, columns) for moment in (Moment.BEFORE, Moment.CHANGE, Moment.AFTER))
    )


@dataclass(slots=True)
class Steps:
    """The steps of the subplan that is being written."""

    steps: list[Step] = field(default_factory=list)

    def add(self, what: str, outcome: Weighted) -> StepRef:
        """Add a step for an outcome that several later steps use."""
        self.steps.append(Step(len(self.steps), what, outcome))
        return StepRef(len(self.steps) - 1, fields(outcome))


def linear(plan: Filter | Project | Union, inputs: tuple[Weighted, ...], needed: frozenset[int]) -> Weighted:
    """The needed columns of f(X), at a moment or of a change.

    d f(X) = f(dX): these nodes treat each row by itself, so f(X0 + dX) = f(X0) + f(dX).
    """
    match plan:
        case Filter(condition=condition):
            return DeltaFilter(inputs[0], condition)
        case Project(columns=columns):
            return DeltaProject(
                inputs[0], tuple(column for column in columns if column.field.column in needed)
            )
        case Union(inputs=plans, fields=columns):
            places = [place for place, field in enumerate(columns) if field.column in needed]
            below = (tuple(logical.fields(plan)[place] for place in places) for plan in plans)
            summands = tuple(keep(outcome, fields_) for outcome, fields_ in zip(inputs, below, strict=True))
            return Sum(summands, tuple(columns[place] for place in places))
        case _:
            assert_never(plan)


def keep(outcome: Weighted, columns: tuple[Field, ...]) -> Weighted:
    """The outcome with these of its columns, in this order."""
    return outcome if fields(outcome) == columns else DeltaProject(outcome, passing(columns))


def consolidate(outcome: Weighted) -> Weighted:
    """The outcome, consolidated. Its inputs need not be: their weights pass through."""
    return Consolidate(_unconsolidated(outcome))


def _unconsolidated(outcome: Weighted) -> Weighted:
    match outcome:
        case Consolidate(input=child):
            return _unconsolidated(child)
        case DeltaFilter(input=child, condition=condition):
            return DeltaFilter(_unconsolidated(child), condition)
        case DeltaProject(input=child, columns=columns):
            return DeltaProject(_unconsolidated(child), columns)
        case _:
            return outcome
