"""How a result is computed, and what was computed and is not yet published."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.firing.outcome import RunOutcome
from coordinator.firing.work import Offsets
from coordinator.planning.prices import Prices
from coordinator.publish.changes import Changes


@dataclass(frozen=True, slots=True)
class How:
    """How a result is computed.

    `from_scratch`: it is published as a whole. `rebuild`: all intermediate results are computed from the
    tables too. `prices`: what it is expected to take, if that was asked. `has_goal`: a goal applies.
    """

    from_scratch: bool = False
    rebuild: bool = False
    prices: Prices | None = None
    has_goal: bool = True

    @property
    def reads_everything(self) -> bool:
        """Whether it computes everything, and no changes."""
        return self.rebuild or not self.has_goal


@dataclass(frozen=True, slots=True)
class ComputedChanges:
    """A result that is computed and not yet published: its changes, and the offsets of all subplans after it.

    Without `fired` there was nothing to do. `base`: the offsets when the computation began.
    """

    position: int
    number: int
    fired: RunOutcome | None
    changes: Changes
    offsets: Offsets
    base: Offsets
    how: How
