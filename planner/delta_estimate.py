"""How many rows each node of a delta plan gives in a firing: what comes, what is replaced, and what goes.

A subplan is read once, into functions over flows; what they need not know of a firing is settled then. A
firing's parts are taken as drawn evenly from all that ever comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from dialect.expressions.scalar import Scalar
from planner import delta_estimate_groups as groups
from planner import delta_estimate_joins as joins
from planner import delta_estimate_sums as sums
from planner.algebra.statistics import ColumnStatistics
from planner.delta.weighted import (
    Among,
    Choose,
    Compute,
    Consolidate,
    First,
    Groups,
    Guard,
    Matched,
    Moment,
    Negate,
    Once,
    Pairs,
    Read,
    Rows,
    Step,
    Sum,
    Tallies,
    Use,
    Weighted,
    Where,
    fields,
)
from planner.delta_part import Changes, Frame, Kind, Leaf, Ledger, Part
from planner.flow import DELETES, INSERTS, MOVED, UPDATES, Flow, content
from planner.spread import (
    NO_COLUMNS,
    NOWHERE,
    Moves,
    Spread,
    Spreads,
    computed,
    filtered,
    moves_of,
    share_of,
)

_CROSSES = 0.1
"""Of the rows whose value moves, those that a condition on it lets pass before or after, but not both."""


@dataclass(frozen=True, slots=True)
class Known:
    """A buffer that is read: its columns, its rows once everything has come, and whether any ever go."""

    columns: Spreads
    rows: float
    only_grows: bool


@dataclass(slots=True)
class Estimator:
    """Reads the steps of a subplan. From `scratch`: what is read as a change is the whole content."""

    buffers: Mapping[int, Known]
    frame: Frame
    scratch: bool
    ledger: Ledger = field(default_factory=Ledger)
    steps: dict[int, Part] = field(default_factory=dict)
    read: set[Leaf] = field(default_factory=set)

    def step(self, step: Step, everything: Changes) -> Part:
        """A step; what it leaves to be done is done whenever anything changed."""
        part = self.part(step.outcome)
        self.ledger.record(part.waiting, (part.changes or everything, part.needs))
        part = replace(part, waiting=(), origin=frozenset({step.number}))
        self.steps[step.number] = part
        self.frame.steps[step.number] = part.sample
        return part

    def part(self, outcome: Weighted) -> Part:
        """The node's rows as a function of a firing."""
        match outcome:
            case Read():
                return self._read(outcome)
            case Use(step=step):
                return replace(self.steps[step], run=lambda frame: frame.steps[step])
            case Rows(rows=rows):
                return _rows(outcome, float(len(rows)))
            case Choose(guard=guard, shortcut=shortcut, general=general):
                return self.part(shortcut if self._holds(guard) else general)
            case Sum(inputs=inputs, fields=fields_):
                return sums.summed([self.part(input) for input in inputs], inputs, fields_)
            case Pairs(left=left, right=right, condition=condition):
                return joins.pairs(self.part(left), self.part(right), condition, self.ledger)
            case Matched(left=left, right=right, condition=condition, negated=negated):
                sides = self.part(left), self.part(right)
                return joins.matched(*sides, condition, negated, self.ledger)
            case Among(input=child, of=of, keys=keys):
                numbers = [key.column for key in keys]
                return joins.among(self.part(child), self.part(of), numbers, self.ledger)
            case _:
                return self._over_one(outcome, self.part(outcome.input))

    def _over_one(
        self, outcome: Where | Compute | Negate | Consolidate | Once | Tallies | Groups | First, part: Part
    ) -> Part:
        match outcome:
            case Where(input=Tallies()) | Once():
                return part  # of groups that are there; which of them go is seen at the end: `reconciled`
            case Where(condition=condition):
                return _where(part, condition)
            case Compute(columns=columns):
                values = {
                    column.field.column: computed(column.value, part.columns, part.rows) for column in columns
                }
                return replace(part, columns=values)
            case Negate():
                return sums.negated(part)
            case Consolidate():
                return sums.consolidated(part, self.ledger)
            case Tallies(keys=keys, columns=tallied):
                return groups.tallied(part, keys, tallied, self.ledger)
            case Groups(keys=keys, columns=aggregated):
                return groups.grouped(part, keys, aggregated, self.ledger)
            case First(limit=limit):
                return groups.first(part, limit, self.ledger)
            case _:
                assert_never(outcome)

    def _read(self, read: Read) -> Part:
        leaf = (read.buffer, read.moment)
        self.read.add(leaf)
        is_change = read.moment is Moment.CHANGE
        known = self.buffers[read.buffer]
        return Part(
            run=lambda frame: frame.leaves[leaf],
            sample=self.frame.leaves[leaf],
            columns={
                field.column: replace(spread, fresh=is_change and spread.grows and not self.scratch)
                for field in read.fields
                for spread in (known.columns[field.column],)
            },
            kind=Kind.CHANGE if is_change and not self.scratch else Kind.CONTENT,
            changes=frozenset({read.buffer}) if is_change else frozenset(),
            origin=frozenset({leaf}),
            arrived=frozenset({leaf}) if is_change else frozenset(),
            waiting=() if is_change else (leaf,),
            before=read.moment is Moment.BEFORE,
            needs=frozenset({leaf}) if read.moment is Moment.BEFORE else frozenset(),
        )

    def _holds(self, guard: Guard) -> bool:
        """That each child has its parent is not known before a firing."""
        if self.scratch:
            return True
        return not guard.level and all(self.buffers[buffer].only_grows for buffer in guard.appended)


def _rows(outcome: Rows, rows: float) -> Part:
    spread = Spread(ColumnStatistics(max(1.0, rows)), Moves.NEVER, max(1.0, rows), NOWHERE, max(1.0, rows))
    return Part(
        run=lambda frame: content(np.full(len(frame.news), rows)),
        sample=content(np.array([rows])),
        columns={field.column: spread for field in fields(outcome)} or NO_COLUMNS,
        kind=Kind.CONTENT,
        changes=frozenset(),
        origin=frozenset(),
    )


def _where(part: Part, condition: Scalar) -> Part:
    """A row that is replaced may meet the condition before or after only, if what it looks at moves."""
    share = share_of(condition, part.columns)
    columns, moves = filtered(part.columns, condition, share), moves_of(condition, part.columns)
    if part.kind is not Kind.CHANGE or moves is Moves.NEVER:
        return replace(
            part,
            run=lambda frame: part.run(frame) * share,
            sample=part.sample * share,
            columns=columns,
        )
    crossing = share * (1.0 - share) * (0.5 if moves is Moves.OFTEN else _CROSSES)
    row = MOVED if moves is Moves.EXTREMES else UPDATES

    def passed(flow: Flow) -> Flow:
        result = flow * share
        split = flow[row] * crossing
        result[INSERTS] += split
        result[DELETES] += split
        result[UPDATES] -= split
        result[MOVED] = np.minimum(result[MOVED], result[UPDATES])
        return result

    return replace(
        part, run=lambda frame: passed(part.run(frame)), sample=passed(part.sample), columns=columns
    )
