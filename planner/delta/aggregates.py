"""How nodes that keep a state follow changes of their input: groups, and the first rows.

Such a node writes what it stores, so its state Y0 is the content of its own buffer, from which readers
compute the columns. Rows that stay the same are not written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.algebra.logical import Field, Top
from planner.delta.linear import Moments, Steps, keep
from planner.delta.tallies import Tallying, positive
from planner.delta.weighted import (
    Consolidate,
    DeltaFilter,
    First,
    KeySemiJoin,
    Negate,
    PartialAggregate,
    Sum,
    Weighted,
    fields,
)


def difference(after: Weighted, before: Weighted) -> Weighted:
    """The change dY = Y1 - Y0 of a result that was computed from scratch."""
    return Consolidate(Sum((after, Negate(before)), fields(after)))


@dataclass(frozen=True, slots=True)
class Grouping:
    """An aggregate's keys and its state before the firing."""

    keys: tuple[Field, ...]
    before: Weighted

    def merged(self, tallying: Tallying, change: Weighted, steps: Steps, appended: bool) -> Weighted:
        """Y1 = Y0 merged with the tallies of dX, group by group; a group whose row count is 0 is gone.

        A tally of X0 + dX is that of X0 merged with that of dX: for sums of weights always, for sums of
        floats and for extremes where rows are only `appended`. Y0 need not be consolidated for sums.
        """
        arrived = steps.add("tallies of the change", PartialAggregate(change, self.keys, tallying.stored))
        touched = self._touched(self.before, arrived)
        before = steps.add("groups before", Consolidate(touched) if appended else touched)
        after = PartialAggregate(Sum((before, arrived), fields(before)), self.keys, tallying.merging)
        return difference(DeltaFilter(after, positive(tallying.rows)) if self.keys else after, before)

    def recomputed(self, summary: Callable[[Weighted], Weighted], rows: Moments, steps: Steps) -> Weighted:
        """Y1 - Y0 for the groups that dX touches, Y1 from X1; the others have the same rows in X0 and X1."""
        touched = steps.add("touched groups", keep(rows.change, self.keys)) if self.keys else rows.change
        after = summary(Consolidate(self._touched(rows.after, touched)))
        return difference(after, self._touched(self.before, touched))

    def _touched(self, groups: Weighted, by: Weighted) -> Weighted:
        """Without keys there is one group, which is always looked at: it has a row also over no rows."""
        return KeySemiJoin(groups, by, self.keys) if self.keys else groups


def first_recomputed(top: Top, before: Weighted, after: Weighted) -> Weighted:
    """Y1 - Y0 with Y1 the first rows of X1."""
    return difference(First(Consolidate(after), top.order, top.limit, top.offset), before)


def first_merged(top: Top, before: Weighted, change: Weighted) -> Weighted:
    """Y1 = the first rows of Y0 + dX, without an offset and where dX has no negative weight.

    A row that is not among the first of X0 is not among those of X0 + dX: all rows before it are still there.
    """
    return first_recomputed(top, before, Sum((before, change), fields(before)))
