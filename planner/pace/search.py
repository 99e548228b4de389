"""Raises paces one by one, always where a second of work takes most off the work at the trigger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf, isinf
from typing import Final, TypeAlias

from planner.pace.simulation import Pacing, SimulatedRuns

Settings: TypeAlias = tuple[int, ...]
"""A pace for each knob."""

_NOTHING: Final = 1e-9
"""Seconds so few that they count as no work."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """What has a setting: for each knob the place of its (first) path; the paces of all paths for given
    settings; which settings are allowed; and which knobs are also turned together.

    Raising both sides of a join brings more than raising each alone: rows seen by one side only meet nothing.
    """

    leads: tuple[int, ...]
    paces: Callable[[Settings], Pacing]
    allowed: Callable[[Settings], bool]
    together: tuple[tuple[int, ...], ...] = ()

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        """The sets of knobs that one step of the search can turn."""
        return (*((knob,) for knob in range(len(self.leads))), *self.together)


@dataclass(frozen=True, slots=True)
class Raise:
    """A step of the search: the work left and in total once some knobs were turned; the first turned none."""

    turned: tuple[int, ...]
    settings: Settings
    outcome: SimulatedRuns
    incrementability: float


@dataclass(slots=True)
class Search:
    """A greedy search over levels of paces. The worth of a move is computed again only when the move comes
    first; of one that was worth nothing, only when no other move is worth anything.

    `is_over`: whether no further settings may be simulated; then the search ends where it is.
    """

    simulate: Callable[[Pacing], SimulatedRuns]
    knobs: Knobs
    levels: tuple[int, ...]
    is_over: Callable[[], bool] = lambda: False
    declined: dict[int, Raise] = field(default_factory=dict)
    _queue: list[tuple[float, int, Raise, Settings]] = field(default_factory=list)

    def steps(self, limit: float) -> Iterator[Raise]:
        """The raises until the final work is within the limit, or no raise lowers it."""
        settings = (1,) * len(self.knobs.leads)
        current = Raise((), settings, self._simulated(settings), inf)
        moves = range(len(self.knobs.moves))
        yield current
        self._offer(current, moves)
        while current.outcome.final > limit and not self.is_over():
            best = self._best(current)
            if best is None:
                return
            current = best
            yield current
            known = {move for _, move, _, _ in self._queue} | self.declined.keys()
            self._offer(current, (move for move in moves if move not in known))

    def set(self, current: Raise, settings: Settings) -> Raise | None:
        """Go on from other settings, if they are allowed, as if the last raise had led to them."""
        if self.is_over() or not self.knobs.allowed(settings):
            return None
        return replace(current, settings=settings, outcome=self._simulated(settings))

    def _best(self, current: Raise) -> Raise | None:
        if not self._queue:
            self._offer(current, tuple(self.declined))
        while self._queue:
            _, move, raised, settings = heappop(self._queue)
            if settings == current.settings:
                return raised
            self._offer(current, (move,))
        return self._leap(current)

    def _leap(self, current: Raise) -> Raise | None:
        """The best raise beyond the next level: each of two firings may meet all groups, of a hundred few."""
        raised = (
            self._raised(current, knobs, steps)
            for knobs in self.knobs.moves
            for steps in range(2, len(self.levels))
        )
        worth = [raise_ for raise_ in raised if raise_ is not None and raise_.incrementability > 0.0]
        return max(worth, key=lambda raise_: _comparable(raise_.incrementability), default=None)

    def _offer(self, current: Raise, moves: Iterable[int]) -> None:
        for move in moves:
            raised = self._raised(current, self.knobs.moves[move])
            if raised is None:
                self.declined.pop(move, None)
            elif raised.incrementability > 0.0:
                self.declined.pop(move, None)
                heappush(self._queue, (-_comparable(raised.incrementability), move, raised, current.settings))
            else:
                self.declined[move] = raised

    def _raised(self, current: Raise, knobs: tuple[int, ...], steps: int = 1) -> Raise | None:
        """These knobs raised by so many levels; None if there is no such level, or it is not allowed."""
        place = self.levels.index(min(current.settings[knob] for knob in knobs)) + steps
        if place >= len(self.levels):
            return None
        level = self.levels[place]
        raised = tuple(knob for knob in knobs if current.settings[knob] < level)
        settings = tuple(
            level if knob in raised else setting for knob, setting in enumerate(current.settings)
        )
        if self.is_over() or not self.knobs.allowed(settings):
            return None
        outcome = self._simulated(settings)
        return Raise(raised, settings, outcome, incrementability(current.outcome, outcome))

    def _simulated(self, settings: Settings) -> SimulatedRuns:
        return self.simulate(self.knobs.paces(settings))


def incrementability(before: SimulatedRuns, after: SimulatedRuns) -> float:
    """The work taken off the trigger for each second of additional total work; infinite if there is none."""
    less, more = before.final - after.final, after.total - before.total
    if more <= _NOTHING:
        return inf if less > _NOTHING else 0.0
    return less / more


def _comparable(value: float) -> float:
    """The value without its last digits, so that values that differ only in these compare as equal."""
    return value if isinf(value) else float(f"{value:.9g}")


def levels(most: int) -> tuple[int, ...]:
    """Paces each twice the one before, so that marks of one are marks of the next; `most` is the last."""
    return tuple(sorted({2**exponent for exponent in range(most.bit_length())} | {most}))
