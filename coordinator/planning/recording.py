"""A schedule as the catalog keeps it and users read it: pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from catalog.queries.paces import PacedPath, SubplanText
from planner.cost.engines import OwnWeights
from planner.delta.weighted import DeltaPlan
from planner.explain.schedule_text import named
from planner.pace.schedule import Schedule
from planner.pace.simulation import Corrections


def paths_to_save(schedule: Schedule, plan: DeltaPlan) -> Sequence[PacedPath]:
    """The paces of all paths, with their work and reasons."""
    works = {subplan.writes: sum(subplan.firings) for subplan in schedule.subplans}
    return [
        PacedPath(
            path=number,
            subplan=path_plan.path.writes,
            reads=named(plan, path_plan.path.reads),
            pace=path_plan.pace,
            incrementability=path_plan.incrementability,
            predicted_work=works[path_plan.path.writes],
            reason=path_plan.reason,
        )
        for number, path_plan in enumerate(schedule.paths)
    ]


def subplan_texts(
    plan: DeltaPlan, schedule: Schedule, corrections: Corrections, own: OwnWeights
) -> Sequence[SubplanText]:
    """The subplans, with corrections of their rows, their own weights, and their engines at the trigger."""
    kept = {
        buffer: json.dumps({engine: asdict(weights) for engine, weights in by_engine.items()})
        for buffer, by_engine in own.items()
    }
    return [
        SubplanText(
            subplan=subplan.writes,
            text=named(plan, subplan.writes),
            method=subplan.method,
            correction=corrections.get(subplan.writes),
            weights=kept.get(subplan.writes),
            engine=planned.engines[-1],
            reason=planned.reason,
            predicted_work=planned.firings[-1],
        )
        for subplan, planned in zip(plan.subplans, schedule.subplans, strict=True)
    ]
