"""Runs a delta plan on lists: every buffer a log of batches, every firing by definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from catalog.postgres.schema import TableName
from executors.executor import range_at
from executors.reference.firing import Changes, consolidated
from executors.reference.weighted import evaluate_weighted
from planner.algebra.logical import Field
from planner.delta.weighted import DeltaPlan, Guard, Moment, Subplan, TableBuffer
from planner.firing.specialise import Facts, specialise


@dataclass(slots=True)
class Log:
    """A buffer: at offset n its content is the sum of its first n batches."""

    fields: tuple[Field, ...]
    batches: list[Changes] = field(default_factory=list)

    def between(self, start: int, end: int) -> Changes:
        """The changes of these batches."""
        return [change for batch in self.batches[start:end] for change in batch]


@dataclass(frozen=True, slots=True)
class Firing:
    """The logs by the buffers' numbers, the ranges (from, to] of them, and the outcomes of steps."""

    logs: Mapping[int, Log]
    ranges: Mapping[int, tuple[int, int]]
    steps: dict[int, Changes] = field(default_factory=dict)

    def read(self, buffer: int, moment: Moment, columns: Sequence[Field]) -> Changes:
        """A buffer's rows at a moment, by these columns."""
        log = self.logs[buffer]
        places = [[field.column for field in log.fields].index(column.column) for column in columns]
        changes = log.between(*range_at(self.ranges[buffer], moment))
        return [(tuple(row[place] for place in places), weight) for row, weight in changes]

    @property
    def facts(self) -> Facts:
        """What is known of it without looking at rows."""
        unchanged = (
            buffer for buffer, bounds in self.ranges.items() if not self.logs[buffer].between(*bounds)
        )
        unwritten = (
            buffer for buffer, (start, _) in self.ranges.items() if not self.logs[buffer].between(0, start)
        )
        return Facts(self.holds, frozenset(unchanged), frozenset(unwritten))

    def holds(self, guard: Guard) -> bool:
        """Whether the guard does in this firing."""
        appended = all(
            weight > 0
            for buffer in guard.appended
            for _, weight in self.logs[buffer].between(*self.ranges[buffer])
        )
        return appended and all(self.ranges[one][0] == self.ranges[other][0] for one, other in guard.level)

    def go_on(self) -> None:
        """Do nothing: the firing cannot be interrupted."""


class Replay:
    """The buffers of a delta plan, empty at first, and how far each subplan has read them.

    Every commit is a batch of every table, so that equal offsets of tables are the same position; every
    firing is a batch of its node. If `specialised`, what is run is made for each firing, as an executor does.
    """

    def __init__(self, plan: DeltaPlan, *, specialised: bool = False) -> None:
        self.plan = plan
        self.specialised = specialised
        self.logs = {buffer.number: Log(buffer.fields) for buffer in plan.buffers}
        self.read = {(subplan.writes, buffer): 0 for subplan in plan.subplans for buffer in subplan.reads}

    def commit(self, changes: Mapping[TableName, Changes]) -> None:
        """What one commit does to tables; in their rows the attribute numbered n is at position n - 1."""
        for buffer in self.plan.buffers:
            if isinstance(buffer, TableBuffer):
                rows = changes.get(buffer.table, [])
                batch = [
                    (tuple(row[attribute - 1] for attribute in buffer.attributes), weight)
                    for row, weight in rows
                ]
                self.logs[buffer.number].batches.append(batch)

    def fire_all(self) -> None:
        """Every subplan in its order, with all that came."""
        for subplan in self.plan.subplans:
            self.fire(subplan)

    def fire(self, subplan: Subplan, to: Mapping[int, int] | None = None) -> Changes:
        """One firing: the batch it writes. It reads up to these offsets, and what is not named to its end."""
        batches = self.logs[subplan.writes].batches
        ends = {buffer: len(self.logs[buffer].batches) for buffer in subplan.reads} | dict(to or {})
        ranges = {buffer: (self.read[subplan.writes, buffer], ends[buffer]) for buffer in subplan.reads}
        firing = Firing(self.logs, ranges | {subplan.writes: (len(batches), len(batches))})
        steps = (specialise(subplan, firing.facts) if self.specialised else subplan).steps
        for step in steps:
            firing.steps[step.number] = evaluate_weighted(step.outcome, firing)
        outcome = firing.steps[steps[-1].number]
        batches.append(outcome)
        self.read |= {(subplan.writes, buffer): ends[buffer] for buffer in subplan.reads}
        return outcome

    def content(self, buffer: int) -> Changes:
        """The rows of a buffer at its end, consolidated."""
        log = self.logs[buffer]
        return consolidated(log.between(0, len(log.batches)))

    @property
    def answer(self) -> Changes:
        """The rows of the answer."""
        return self.content(self.plan.result)
