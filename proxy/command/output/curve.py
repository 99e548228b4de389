"""What goals cost, as EXPLAIN (CURVE) gives it; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any, Final

from rich.bar import Bar
from rich.table import Table

from planner.explain.curve_steps import telling_steps
from proxy.command.output.table import table_of
from proxy.command.output.values import share_text

_WIDTH: Final = 24
_SAME: Final = 0.01
"""Numbers of three digits that differ by less are of one plan."""


@dataclass(frozen=True, slots=True)
class Step:
    """A plan that the search went through; work as shares of one batch's."""

    final_work: float
    total_work: float
    what: str


@dataclass(frozen=True, slots=True)
class Curve:
    """The steps of the search from one run on; the goal, if it is a share; and the plan that is used."""

    steps: tuple[Step, ...]
    goal: float | None
    chosen: Step | None


def curve_of(schedule: Mapping[str, Any]) -> Curve:
    """The curve in the schedule that EXPLAIN (FORMAT JSON, CURVE) gives."""
    steps = tuple(
        Step(float(step["final_work"]), float(step["total_work"]), _raised(step))
        for step in schedule["curve"]
    )
    goal = schedule["goal"]
    batch = schedule.get("batch_work")
    chosen = None
    if batch and isinstance(schedule["final_work"], float | int):
        final, total = schedule["final_work"] / batch, schedule["total_work"] / batch
        used = Step(final, total, "the paces that are kept")
        chosen = next((step for step in steps if _same(step, used)), used)
    return Curve(steps, goal if isinstance(goal, float | int) and goal < 1 else None, chosen)


def curve_table(curve: Curve) -> Table:
    """A line for each step, with what is left for the trigger as a bar; the goal stands where it belongs."""
    longest = max(step.final_work for step in curve.steps) or 1.0
    steps = _in_order(curve)
    telling = telling_steps([step.final_work for step in steps])
    rows = [
        (step.final_work, _row(step, longest, is_used=step == curve.chosen))
        for place, step in enumerate(steps)
        if place in telling or step == curve.chosen
    ]
    if curve.goal is not None:
        is_met = any(step.final_work <= curve.goal for step in curve.steps)
        words = "— the goal —" if is_met else "— the goal, which no plan meets —"
        rows.append((curve.goal, (share_text(curve.goal), "", _bar(curve.goal, longest), words)))
        rows.sort(key=lambda row: -row[0])
    columns = ("final work", "total work", "", "what is computed more often")
    return table_of(columns, [row for _share, row in rows], columns[:2])


def _row(step: Step, longest: float, *, is_used: bool) -> tuple[object, ...]:
    what = f"{step.what}  ← used" if is_used else step.what
    return share_text(step.final_work), share_text(step.total_work), _bar(step.final_work, longest), what


def _in_order(curve: Curve) -> list[Step]:
    extra = [curve.chosen] if curve.chosen is not None and curve.chosen not in curve.steps else []
    return sorted([*curve.steps, *extra], key=lambda step: (-step.final_work, step.total_work))


def _bar(share: float, longest: float) -> Bar:
    return Bar(longest, 0, share, width=_WIDTH)


def _raised(step: Mapping[str, Any]) -> str:
    if not step["raised"]:
        return "nothing: one run"
    return f"pace {step['pace']} of {', '.join(step['raised'])}"


def _same(one: Step, other: Step) -> bool:
    return isclose(one.final_work, other.final_work, rel_tol=_SAME) and isclose(
        one.total_work, other.total_work, rel_tol=_SAME
    )
