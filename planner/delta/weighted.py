"""How changes are computed: an algebra over weighted bags, where a row counts `weight` times, also below
zero.

A delta plan is a list of subplans. Each reads buffers and appends to one. A buffer is the log of changes of a
table or of a node of the plan: its content at an offset is the sum of all changes up to there. A firing
gives each buffer that its subplan reads a range (from, to] of offsets; the leaves below see that range.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, assert_never

from catalog.postgres.schema import TableName
from dialect.expressions.scalar import Scalar
from planner.algebra.logical import Aggregated, Computed, Field, Order


class Moment(Enum):
    """Which part of a buffer a leaf sees: its content at `from`, what came since, or its content at `to`."""

    BEFORE = "before"
    CHANGE = "change"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Read:
    """A buffer's rows at a moment, by some of its columns (the same numbers, any order).

    Never consolidated: a row and its retraction may both be there.
    """

    buffer: int
    moment: Moment
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class StepRef:
    """The outcome of an earlier step of the same subplan."""

    step: int
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows written out, each with weight 1."""

    rows: tuple[tuple[Scalar, ...], ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class DeltaFilter:
    """The rows for which the condition is true, with their weights."""

    input: Weighted
    condition: Scalar


@dataclass(frozen=True, slots=True)
class DeltaProject:
    """For each row the columns computed from it, with its weight."""

    input: Weighted
    columns: tuple[Computed, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs for which the condition is true; weights multiply."""

    left: Weighted
    right: Weighted
    condition: Scalar


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """The left rows, with their weights, that have (if `negated`: have not) a partner among the right rows.

    The right side counts as a set: any row in it counts, whatever its weight. So it has to be consolidated
    and positive where that matters.
    """

    left: Weighted
    right: Weighted
    condition: Scalar
    negated: bool


@dataclass(frozen=True, slots=True)
class KeySemiJoin:
    """The rows, with their weights, whose keys are those of some row of `of`, whatever its weight.

    The keys are columns of both, under the same numbers; they are equal where they are not distinct.
    """

    input: Weighted
    of: Weighted
    keys: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on a firing that the figures of its batches decide, before anything is read.

    None of the buffers `appended` has a negative weight in its range. The contents BEFORE of each pair in
    `level`, a parent and a child, are those of the same position, and each key of the child is in the parent.
    That fails once a session with triggers switched off has left a child without its parent.
    """

    appended: tuple[int, ...]
    level: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Choose:
    """`shortcut` in a firing for which the guard holds, where both have the same sum; else `general`.

    Resolved before a firing is run: see `planner/firing/specialise.py`.
    """

    guard: Guard
    shortcut: Weighted
    general: Weighted


@dataclass(frozen=True, slots=True)
class Sum:
    """All rows of all inputs, their columns matched by position."""

    inputs: tuple[Weighted, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Negate:
    """The rows with their weights negated."""

    input: Weighted


@dataclass(frozen=True, slots=True)
class Consolidate:
    """Each different row once, with the sum of its weights; none whose sum is zero."""

    input: Weighted


@dataclass(frozen=True, slots=True)
class AsSet:
    """The rows of a consolidated input whose weight is positive, each with weight 1."""

    input: Weighted


class Tally(Enum):
    """What a weighted group adds up."""

    WEIGHT = "weight"  # sum of the weights
    COUNT = "count"  # sum of the weights of the rows where the value is not NULL
    SUM = "sum"  # sum of weight * value over those rows, NULL where there are none
    LEAST = "least"  # smallest value among rows of positive weight, input consolidated
    GREATEST = "greatest"


@dataclass(frozen=True, slots=True)
class Tallied:
    """A column with the tally of an expression; WEIGHT has no expression."""

    field: Field
    tally: Tally
    value: Scalar | None


@dataclass(frozen=True, slots=True)
class PartialAggregate:
    """A row of weight 1 for each group of keys (columns of the input) with its tallies.

    Keys are equal where they are not distinct. Without keys there is exactly one group, also over no rows:
    there weight and count are 0.
    """

    input: Weighted
    keys: tuple[Field, ...]
    columns: tuple[Tallied, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """The aggregates of a consolidated, positive input, by definition: a row of weight w counts w times.

    As the logical Aggregate: without keys there is exactly one group, also over no rows.
    """

    input: Weighted
    keys: tuple[Field, ...]
    columns: tuple[Aggregated, ...]


@dataclass(frozen=True, slots=True)
class First:
    """The first rows in the order of a consolidated, positive input; a row of weight w counts w times."""

    input: Weighted
    order: tuple[Order, ...]
    limit: int | None
    offset: int


Weighted: TypeAlias = (
    Read
    | StepRef
    | Rows
    | DeltaFilter
    | DeltaProject
    | Pairs
    | SemiJoin
    | KeySemiJoin
    | Choose
    | Sum
    | Negate
    | Consolidate
    | AsSet
    | PartialAggregate
    | Groups
    | First
)


@dataclass(frozen=True, slots=True)
class TableBuffer:
    """The changes of a table, as captured: the columns stand for these attributes of it."""

    number: int
    table: TableName
    fields: tuple[Field, ...]
    attributes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeBuffer:
    """The changes of a node of the plan, or of counts and partial sums that its rows are computed from."""

    number: int
    what: str
    fields: tuple[Field, ...]


Buffer: TypeAlias = TableBuffer | NodeBuffer


@dataclass(frozen=True, slots=True)
class Step:
    """A named intermediate outcome of a subplan, used more than once or worth a name."""

    number: int
    what: str
    outcome: Weighted


@dataclass(frozen=True, slots=True)
class Subplan:
    """What one firing computes: the steps in order; the last one is the change of buffer `writes`.

    `reads` are the buffers it consumes. Besides, it may read its own buffer's content BEFORE (what it wrote
    so far): its state.
    """

    writes: int
    reads: tuple[int, ...]
    steps: tuple[Step, ...]
    method: str


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """Subplans in the order in which they can run; the last one's buffer holds the result's changes.

    A buffer's number is its place among the buffers. The first firing runs all subplans even if nothing
    changed, since an aggregate without keys and rows written out have rows from then on.
    """

    buffers: tuple[Buffer, ...]
    subplans: tuple[Subplan, ...]

    @property
    def result(self) -> int:
        """The buffer of the result."""
        return self.subplans[-1].writes


def fields(outcome: Weighted) -> tuple[Field, ...]:
    """The columns of each row of the outcome."""
    match outcome:
        case Read(fields=fields_) | StepRef(fields=fields_) | Rows(fields=fields_) | Sum(fields=fields_):
            return fields_
        case DeltaFilter(input=child) | Negate(input=child) | Consolidate(input=child) | AsSet(input=child):
            return fields(child)
        case First(input=child) | KeySemiJoin(input=child) | SemiJoin(left=child) | Choose(general=child):
            return fields(child)
        case DeltaProject(columns=columns):
            return tuple(column.field for column in columns)
        case Pairs(left=left, right=right):
            return fields(left) + fields(right)
        case PartialAggregate(keys=keys, columns=tallied):
            return keys + tuple(column.field for column in tallied)
        case Groups(keys=keys, columns=aggregated):
            return keys + tuple(column.field for column in aggregated)
        case _:
            assert_never(outcome)
