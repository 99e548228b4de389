"""A schedule as the catalog keeps it and users read it: pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from catalog.queries.paces import PacedPath, SubplanText
from planner.delta.weighted import DeltaPlan
from planner.explain.schedule_text import named
from planner.pace.schedule import Schedule
from planner.pace.simulation import Corrections, OwnWeights


def paced_paths(schedule: Schedule, plan: DeltaPlan) -> Sequence[PacedPath]:
    """The paces of all paths, with their work and reasons."""
    works = {subplan.writes: sum(subplan.firings) for subplan in schedule.subplans}
    return [
        PacedPath(
            number,
            path_plan.path.writes,
            named(plan, path_plan.path.reads),
            path_plan.pace,
            path_plan.incrementability,
            works[path_plan.path.writes],
            path_plan.reason,
        )
        for number, path_plan in enumerate(schedule.paths)
    ]


def subplan_texts(plan: DeltaPlan, corrections: Corrections, own: OwnWeights) -> Sequence[SubplanText]:
    """The subplans, with the corrections of their rows and their own weights."""
    costs = {buffer: json.dumps(asdict(weights)) for buffer, weights in own.items()}
    return [
        SubplanText(
            subplan.writes,
            named(plan, subplan.writes),
            subplan.method,
            corrections.get(subplan.writes),
            costs.get(subplan.writes),
        )
        for subplan in plan.subplans
    ]
