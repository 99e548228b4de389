"""Corrects the estimates of rows by those of a finished period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from planner.pace.simulation import Corrections, Pacing, Simulation

_MOST: Final = 1000.0
"""The greatest correction; estimates further off are not corrected by more."""


def corrections(period: Simulation, paces: Pacing, written: Mapping[int, int]) -> Corrections:
    """The factor between written and estimated rows of each subplan.

    Subplans are corrected from the tables up, so that what is left of a difference is a subplan's own error.
    `period` brings the rows that have arrived; a subplan that was not run keeps its old correction.
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
