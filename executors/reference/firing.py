"""What a firing by definition sees, and what it gives: rows with weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from executors.reference.values.values import Row
from planner.algebra.logical import Field
from planner.delta.weighted import Guard, Moment

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
