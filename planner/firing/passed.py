"""Subplans that only pass a change on, which takes no computation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dialect.expressions.scalar import Reference
from planner.delta.weighted import Consolidate, DeltaProject, Moment, Read, Subplan, Weighted, fields


@dataclass(frozen=True, slots=True)
class Passed:
    """The change of a buffer under other numbers: for each column of the outcome the buffer's column."""

    buffer: int
    columns: Mapping[int, int]


def passed(subplan: Subplan) -> Passed | None:
    """The change that the subplan passes on consolidated; None if the subplan does anything else."""
    [*before, last] = subplan.steps
    if before or not isinstance(last.outcome, Consolidate):
        return None
    columns = {field.column: field.column for field in fields(last.outcome)}
    return _passed(last.outcome, columns)


def _passed(outcome: Weighted, columns: Mapping[int, int]) -> Passed | None:
    match outcome:
        case Read(buffer=buffer, moment=Moment.CHANGE):
            return Passed(buffer, columns)
        case Consolidate(input=child):
            return _passed(child, columns)
        case DeltaProject(input=child, columns=computed):
            values = {column.field.column: column.value for column in computed}
            below = {column: values[source] for column, source in columns.items()}
            renamed = {
                column: value.column for column, value in below.items() if isinstance(value, Reference)
            }
            return _passed(child, renamed) if len(renamed) == len(below) else None
        case _:
            return None
