"""What a period that was carried out tells of the estimates of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from planner.flow import gross
from planner.simulation import Correction, Corrections, Pacing, Played, Simulation

_MOST: Final = 1000.0
"""Estimates that are further off are not believed to be so by more than this."""


def corrections(period: Simulation, paces: Pacing, written: Mapping[int, int]) -> Corrections:
    """By how much more each subplan writes than is believed, where so many changed rows were written.

    From the tables up, each with those below it corrected: what is left is its own error. `period` brings
    what has come; of what was not worked the old belief stands.
    """
    known = dict(period.corrections)
    for place, subplan in enumerate(period.plan.subplans):
        rows = written.get(subplan.writes)
        believed = float(gross(_played(period, known, paces)[place].written.changes)[-1])
        if believed >= 1.0 and rows is not None:
            before = known.get(subplan.writes, Correction())
            factor = min(max(before.inserts * max(rows, 1) / believed, 1.0 / _MOST), _MOST)
            known[subplan.writes] = Correction(factor, factor)
    return known


def _played(period: Simulation, known: Corrections, paces: Pacing) -> tuple[Played, ...]:
    memory = tuple(dict[Pacing, Played]() for _ in period.remembered)
    return replace(period, corrections=dict(known), remembered=memory).play(paces).played
