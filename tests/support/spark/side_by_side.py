"""A delta plan fired by an executor and by definition: whatever the plan, both write the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from executors.executor import Buffers, Executor, Firing, InMemory, Part, Range
from executors.reference.arrow import as_changes, as_table
from executors.reference.firing import consolidated
from executors.rows import Schema, name_of
from planner.delta.weighted import DeltaPlan, Subplan
from tests.support.planning.replay import Replay


class Logs:
    """The logs of a replay as what a firing reads."""

    def __init__(self, replay: Replay, schemas: Mapping[int, Schema]) -> None:
        self._replay, self._schemas = replay, schemas

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        return [InMemory(as_table(self._replay.logs[buffer].between(*range), self._schemas[buffer]))]

    def count(self, buffer: int, range: Range) -> int:
        return len(self._replay.logs[buffer].between(*range))

    def names(self, buffer: int) -> Mapping[int, str]:
        return {column: name_of(column) for column in self._schemas[buffer]}


class SideBySide:
    """Each firing of the plan, twice; where what it reads lies, `buffers` says."""

    def __init__(
        self,
        executor: Executor,
        plan: DeltaPlan,
        schemas: Mapping[int, Schema],
        buffers: Callable[[Replay, Mapping[int, Schema]], Buffers] = Logs,
    ) -> None:
        self.executor, self.replay, self.schemas = executor, Replay(plan), schemas
        self.buffers = buffers(self.replay, schemas)

    def fire_all(self) -> None:
        for subplan in self.replay.plan.subplans:
            outcome = self.executor.fire(self.firing(subplan), self.buffers)
            expected = consolidated(self.replay.fire(subplan))
            written = as_changes(outcome.rows, list(self.schemas[subplan.writes].values()))
            assert dict(consolidated(written)) == dict(expected), subplan

    def firing(self, subplan: Subplan) -> Firing:
        logs, read = self.replay.logs, self.replay.read
        own = len(logs[subplan.writes].batches)
        ranges = {
            buffer: (read[subplan.writes, buffer], len(logs[buffer].batches)) for buffer in subplan.reads
        }
        return Firing(subplan, ranges | {subplan.writes: (own, own)}, self.schemas, first=own == 0)
