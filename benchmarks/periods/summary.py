"""What all cases say together: goals kept, and extra work beside one pace for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from benchmarks.periods.goals import (
    EXTRA,
    GAVIAL,
    LEAF,
    LEFT_OUT,
    MET,
    PREDICTED,
    PREDICTED_FINAL,
    REACHABLE,
    UNIFORM,
)
from benchmarks.support.measure import Reading, by_turn, spread

_NEAR: Final = 1.5


def summary(readings: Sequence[Reading]) -> Iterator[str]:
    """A line for each way, then one for Gavial beside IncObv where both were measured."""
    cases = tuple(dict.fromkeys(reading.case for reading in readings))
    for way in (GAVIAL, UNIFORM, LEAF):
        met = _medians(readings, cases, way, MET)
        unable = len(_medians(readings, cases, way, REACHABLE))
        out = len(_medians(readings, cases, way, LEFT_OUT))
        kept = sum(met.values())
        yield f"{way}: goal kept in {kept:.0f} of {len(met)} cases, {unable} not accepted, {out} left out"
    for what, figure in (("all runs", PREDICTED), ("the last run", PREDICTED_FINAL)):
        ratios = [reading.figures[figure] for reading in readings if figure in reading.figures]
        if ratios:
            near = sum(1 / _NEAR <= ratio <= _NEAR for ratio in ratios)
            yield (
                f"work of {what}: predicted within {_NEAR} of what was measured in {near} of {len(ratios)} "
                f"periods, from {min(ratios):.2f} to {max(ratios):.2f} of it"
            )
    ours, theirs = (_medians(readings, cases, way, EXTRA) for way in (GAVIAL, UNIFORM))
    ratios = [ours[case] / theirs[case] for case in ours if theirs.get(case, 0.0) > 0.0]
    if ratios:
        more = sum(ratio > 1.0 for ratio in ratios)
        yield (
            f"extra work, {GAVIAL} / {UNIFORM}: {median(ratios):.2f} in the median of {len(ratios)} cases, "
            f"{min(ratios):.2f} to {max(ratios):.2f}, more in {more}"
        )


def _medians(readings: Sequence[Reading], cases: Sequence[str], way: str, figure: str) -> dict[str, float]:
    """By case, over the turns."""
    found = {case: spread(by_turn(readings, case, way, figure).values()) for case in cases}
    return {case: factor.median for case, factor in found.items() if factor is not None}
