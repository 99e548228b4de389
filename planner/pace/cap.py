"""The cap on all work: how far a search goes, and which of its steps is chosen where the goal is not met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from planner.pace.search import Raise

_TRIMMED_OFF: Final = 1.5
"""Settings that meet a goal are trimmed in the end: steps above the cap by this factor may get below it."""

_NOTHING: Final = 0.02
"""A curve that comes down by no more than this share of its first final work is not worth its price."""


def within(steps: Iterable[Raise], most: float) -> Iterator[Raise]:
    """The steps of a search as long as trimming may bring them below this much work."""
    for number, step in enumerate(steps):
        if number and step.outcome.total > most * _TRIMMED_OFF:
            return
        yield step


def affordable(steps: Sequence[Raise], most: float) -> Sequence[Raise]:
    """The steps that take at most this much work, and the first one, which raises nothing, in any case."""
    return [step for number, step in enumerate(steps) if not number or step.outcome.total <= most]


def recomputed_last(steps: Sequence[Raise], most_final: float) -> tuple[Raise, ...]:
    """The steps where the last run may compute everything from scratch, which takes this much work.

    Early runs are in vain where the last one does so: of such steps only the first one is left.
    """
    first, *others = steps
    return (
        replace(first, outcome=first.outcome.at_most(most_final)),
        *(step for step in others if step.outcome.final <= most_final),
    )


def knee(steps: Sequence[Raise]) -> Raise:
    """The step beyond which a unit of work saves less than on the curve as a whole.

    That is the point farthest above the chord: with final work f and total work t from the first step to the
    step of the least final work, the greatest (f0 - f) / (f0 - fn) - (t - t0) / (tn - t0). For steps (1, 1),
    (0.4, 1.2) and (0.3, 3.0) as (f, t) these are 0, 0.86 - 0.1 and 1 - 1: the second.
    """
    first, last = steps[0].outcome, min(steps, key=lambda step: step.outcome.final).outcome
    saved, spent = first.final - last.final, last.total - first.total
    if saved <= _NOTHING * first.final:
        return steps[0]

    def height(step: Raise) -> float:
        share = (first.final - step.outcome.final) / saved
        return share if spent <= 0.0 else share - (step.outcome.total - first.total) / spent

    return max((step for step in steps if step.outcome.total <= last.total), key=height)
