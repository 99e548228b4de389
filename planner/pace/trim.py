"""Makes settings that meet a goal cheaper: levels are coarse, and later raises may replace earlier ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.pace.search import Raise, Search

_LESS: Final = 1.0 - 1e-9
"""Work is less only if it is less by more than this factor."""

_TRIES: Final = 100
"""The most settings that are tried for an exchange of raises."""


def trimmed(search: Search, chosen: Raise, limit: float) -> Raise:
    """The settings lowered, then exchanged: one knob is raised again to lower others further."""
    trimming = _Trimming(search, limit)
    uniform = trimming.uniform(chosen)
    chosen = trimming.lowered(chosen)
    if uniform is not None and trimming.is_better(uniform, chosen):
        chosen = uniform
    trimming.tries = 0
    while trimming.tries < _TRIES:
        better = next((exchange for exchange in trimming.exchanged(chosen) if exchange is not None), None)
        if better is None:
            break
        chosen = better
    return chosen


@dataclass(slots=True)
class _Trimming:
    search: Search
    limit: float
    tries: int = 0

    def lowered(self, chosen: Raise, kept: int | None = None) -> Raise:
        """The settings lowered but for the knob kept; first knobs of one pace, which are due together."""
        knobs = [knob for knob in range(len(chosen.settings)) if knob != kept]
        for pace in sorted({chosen.settings[knob] for knob in knobs}, reverse=True):
            chosen = self._lowest(chosen, [knob for knob in knobs if chosen.settings[knob] == pace])
        for knob in knobs:
            chosen = self._lowest(chosen, [knob])
        return chosen

    def uniform(self, chosen: Raise) -> Raise | None:
        """All knobs at the greatest pace that any of them has, lowered from there."""
        uniform = self._set(chosen, range(len(chosen.settings)), max(chosen.settings, default=1))
        return None if uniform is None or uniform.outcome.final > self.limit else self.lowered(uniform)

    def exchanged(self, chosen: Raise) -> Iterator[Raise | None]:
        """For each knob the settings that raising it leads to, where they are better."""
        for knob, setting in enumerate(chosen.settings):
            for pace in sorted({setting + 1, setting + 2, 2 * setting, 4 * setting}):
                if self.tries >= _TRIES or pace > self.search.levels[-1]:
                    continue
                raised = self._set(chosen, [knob], pace)
                better = raised and self.lowered(raised, kept=knob)
                if better and self.is_better(better, chosen):
                    yield better

    def _lowest(self, chosen: Raise, knobs: Sequence[int]) -> Raise:
        """The knobs, all at one pace, at the lowest that meets the goal and saves work."""
        low, high = 1, max((chosen.settings[knob] for knob in knobs), default=1)
        best = chosen
        while low < high:
            middle = (low + high) // 2
            lowered = self._set(chosen, knobs, middle)
            if lowered is None or lowered.outcome.final > self.limit:
                low = middle + 1
                continue
            high = middle
            if self.is_better(lowered, best):
                best = lowered
        return best

    def _set(self, chosen: Raise, knobs: Sequence[int], pace: int) -> Raise | None:
        self.tries += 1
        settings = tuple(pace if knob in knobs else setting for knob, setting in enumerate(chosen.settings))
        return self.search.set(chosen, settings)

    def is_better(self, candidate: Raise, chosen: Raise) -> bool:
        """Whether the outcome meets the goal with less total work."""
        return (
            candidate.outcome.final <= self.limit and candidate.outcome.total < chosen.outcome.total * _LESS
        )
