"""Lowers paces again as far as the goal allows: levels are coarse, and later raises may outdo earlier."""

from __future__ import annotations

from collections.abc import Sequence

from planner.pace_search import Raise, Search


def trimmed(search: Search, chosen: Raise, limit: float) -> Raise:
    """The settings lowered; first of knobs at the same pace together, which are due at the same times."""
    for pace in sorted(set(chosen.settings), reverse=True):
        chosen = _lowered(
            search, chosen, [k for k, each in enumerate(chosen.settings) if each == pace], limit
        )
    for knob in range(len(search.knobs.leads)):
        chosen = _lowered(search, chosen, [knob], limit)
    return chosen


def _lowered(search: Search, chosen: Raise, knobs: Sequence[int], limit: float) -> Raise:
    """The knobs, all at one pace, at the lowest that keeps the final work within the limit and saves work."""
    low, high = 1, chosen.settings[knobs[0]]
    best = chosen
    while low < high:
        middle = (low + high) // 2
        settings = tuple(middle if knob in knobs else each for knob, each in enumerate(chosen.settings))
        found = search.set(chosen, settings)
        if found is None or found.outcome.final > limit:
            low = middle + 1
            continue
        high = middle
        if found.outcome.total < best.outcome.total:
            best = found
    return best
