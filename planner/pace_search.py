"""Raises paces one by one, where that takes most off the work at the trigger for what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf
from typing import Final, TypeAlias

from planner.simulation import Outcome, Pacing

Settings: TypeAlias = tuple[int, ...]
"""A pace for each knob."""

_NOTHING: Final = 1e-9
"""Seconds that are no work."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """What is raised as one: of each the place of its path, or of the first of them; the paces of all paths
    by the settings of the knobs; and which settings may be."""

    leads: tuple[int, ...]
    paces: Callable[[Settings], Pacing]
    allowed: Callable[[Settings], bool]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.leads)


@dataclass(frozen=True, slots=True)
class Raise:
    """What is left for the trigger and what all costs once a knob was turned; the first one turned none."""

    knob: int | None
    settings: Settings
    outcome: Outcome
    incrementability: float


@dataclass(slots=True)
class Search:
    """Greedy over levels of paces. What a knob was worth before others were turned is looked at anew only
    where it comes first."""

    play: Callable[[Pacing], Outcome]
    knobs: Knobs
    levels: tuple[int, ...]
    declined: dict[int, Raise] = field(default_factory=dict)
    _queue: list[tuple[float, int, Raise, Settings]] = field(default_factory=list)

    def steps(self, limit: float) -> Iterator[Raise]:
        """The raises until the final work is within the limit, or none leaves less work any more."""
        settings = (1,) * self.knobs.count
        current = Raise(None, settings, self._play(settings), inf)
        yield current
        self._offer(current, range(self.knobs.count))
        while current.outcome.final > limit:
            best = self._best(current)
            if best is None:
                return
            current = best
            yield current
            known = {knob for _, knob, _, _ in self._queue} | self.declined.keys()
            self._offer(current, (each for each in range(self.knobs.count) if each not in known))

    def turned(self, current: Raise, knob: int, pace: int) -> Raise | None:
        """The knob at a pace, if it may be."""
        settings = (*current.settings[:knob], pace, *current.settings[knob + 1 :])
        if not self.knobs.allowed(settings):
            return None
        outcome = self._play(settings)
        return Raise(knob, settings, outcome, incrementability(current.outcome, outcome))

    def set(self, current: Raise, settings: Settings) -> Raise | None:
        """Other settings as if they were those of the last raise, if they may be."""
        if not self.knobs.allowed(settings):
            return None
        return replace(current, settings=settings, outcome=self._play(settings))

    def _best(self, current: Raise) -> Raise | None:
        if not self._queue:
            self._offer(current, tuple(self.declined))
        while self._queue:
            _, knob, found, seen = heappop(self._queue)
            if seen == current.settings:
                return found
            self._offer(current, (knob,))
        return None

    def _offer(self, current: Raise, knobs: Iterable[int]) -> None:
        for each in knobs:
            place = self.levels.index(current.settings[each]) + 1
            found = self.turned(current, each, self.levels[place]) if place < len(self.levels) else None
            if found is None:
                continue
            if found.incrementability > 0.0:
                self.declined.pop(each, None)
                heappush(self._queue, (-found.incrementability, each, found, current.settings))
            else:
                self.declined[each] = found

    def _play(self, settings: Settings) -> Outcome:
        return self.play(self.knobs.paces(settings))


def incrementability(before: Outcome, after: Outcome) -> float:
    """What less is left for the trigger for each second that all costs more; infinite where it costs none."""
    less, more = before.final - after.final, after.total - before.total
    if more <= _NOTHING:
        return inf if less > _NOTHING else 0.0
    return less / more


def levels(most: int) -> tuple[int, ...]:
    """Each twice the one before, so that what is due at a lower pace is due at a higher one too."""
    return tuple(2**each for each in range(most.bit_length()))
