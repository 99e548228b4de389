"""Which nodes of a subplan have about as many rows as the changes, however large the state is."""

from __future__ import annotations

from collections.abc import Mapping
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
    Moment,
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
from planner.delta.weighted_tree import inputs


def is_driven(outcome: Weighted, steps: Mapping[int, bool]) -> bool:
    """Whether the rows are those of a change or meet one; `steps` tells it of earlier steps."""
    match outcome:
        case Read(moment=moment):
            return moment is Moment.CHANGE
        case Rows() | First():
            return True
        case StepRef(step=step):
            return steps[step]
        case Sum() | Choose():
            return all(is_driven(input, steps) for input in inputs(outcome))
        case SemiJoin(left=left, negated=True):
            return is_driven(left, steps)
        case DeltaFilter() | DeltaProject() | PartialAggregate() | Groups():
            return is_driven(outcome.input, steps)
        case Negate() | Consolidate() | AsSet():
            return is_driven(outcome.input, steps)
        case Pairs() | SemiJoin() | KeySemiJoin():
            return any(is_driven(input, steps) for input in inputs(outcome))
        case _:
            assert_never(outcome)
