"""A schedule as the catalog keeps it, and as users read of it: pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from catalog.paces import PacedPath, SubplanText
from planner.schedule import Schedule
from planner.simulation import Corrections, OwnWeights
from planner.weighted import DeltaPlan, NodeBuffer, TableBuffer


def paced_paths(schedule: Schedule, plan: DeltaPlan) -> Sequence[PacedPath]:
    """The paces, with what they cost and why they are so."""
    works = {each.writes: sum(each.firings) for each in schedule.subplans}
    return [
        PacedPath(
            number,
            each.path.writes,
            _what(plan, each.path.reads),
            each.pace,
            each.incrementability,
            works[each.path.writes],
            each.reason,
        )
        for number, each in enumerate(schedule.paths)
    ]


def subplan_texts(plan: DeltaPlan, corrections: Corrections, own: OwnWeights) -> Sequence[SubplanText]:
    """The parts, with what is known of the estimates of their rows, and of what they cost."""
    known = {buffer: each.inserts for buffer, each in corrections.items()}
    costs = {buffer: json.dumps(asdict(each)) for buffer, each in own.items()}
    return [
        SubplanText(
            each.writes,
            _what(plan, each.writes),
            each.method,
            known.get(each.writes),
            costs.get(each.writes),
        )
        for each in plan.subplans
    ]


def _what(plan: DeltaPlan, buffer: int) -> str:
    """A table by its name, a node by what it is and its number."""
    match plan.buffers[buffer]:
        case TableBuffer(table=table):
            return f"{table.schema}.{table.name}"
        case NodeBuffer(number=number, what=what):
            return f"{what} {number}"
