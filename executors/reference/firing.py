"""What a firing sees: its ranges of the buffers, and what its steps gave so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from executors.executor import range_at
from executors.reference.values.values import Row
from planner.algebra.logical import Field
from planner.delta.weighted import Guard, Moment
from planner.firing.specialise import Facts

Changes: TypeAlias = list[tuple[Row, int]]


def consolidated(changes: Changes) -> Changes:
    """Each different row once with the sum of its weights, none whose sum is zero."""
    sums: Counter[Row] = Counter()
    for row, weight in changes:
        sums[row] += weight
    return [(row, weight) for row, weight in sums.items() if weight]


class Inputs(Protocol):
    """What a firing sees, wherever it is."""

    @property
    def steps(self) -> dict[int, Changes]:
        """The outcomes of its steps so far."""

    def read(self, buffer: int, moment: Moment, columns: Sequence[Field]) -> Changes:
        """A buffer's rows at a moment, by these columns."""

    def holds(self, guard: Guard) -> bool:
        """Whether the guard does in this firing."""

    def go_on(self) -> None:
        """Raise where nobody wants the outcome any more; asked now and then."""


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
