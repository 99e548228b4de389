"""What a period that was carried out tells of the estimates of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from planner.pace.simulation import Corrections, Pacing, Simulation

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
        corrected = replace(period, corrections=dict(known)).simulate(paces)
        believed = float(corrected.subplans[place].written.changes.gross[-1])
        if believed >= 1.0 and rows is not None:
            factor = known.get(subplan.writes, 1.0) * max(rows, 1) / believed
            known[subplan.writes] = min(max(factor, 1.0 / _MOST), _MOST)
    return known
