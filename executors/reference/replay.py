"""Runs a delta plan on lists: every buffer a log of batches, every firing by definition."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.schema import TableName
from executors.reference.firing import Changes, Firing, Log, consolidated
from executors.reference.weighted import evaluate_weighted
from planner.delta.weighted import DeltaPlan, Subplan, TableBuffer
from planner.firing.specialise import specialise


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
        return self.content(self.plan.answer)
