"""Which engine computes each part of a query, and why, where no firings of a period are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner.cost.engines import Choice
from planner.delta.weighted import DeltaPlan
from planner.explain.schedule_text import figure, named, rounded


def engines_text(plan: DeltaPlan, choices: Sequence[Choice]) -> str:
    """A line for each part: its engine, and why it is that one, or else the work where there is no other."""
    return "".join(
        f"{part}: by {choice.engine}: {choice.reason or f'{figure(choice.work)} s'}\n"
        for part, choice in _parts(plan, choices)
    )


def engines_values(plan: DeltaPlan, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """The same as JSON has it."""
    return [
        {
            "subplan": part,
            "engine": choice.engine,
            "engine_reason": choice.reason,
            "work": rounded(choice.work),
        }
        for part, choice in _parts(plan, choices)
    ]


def _parts(plan: DeltaPlan, choices: Sequence[Choice]) -> Iterator[tuple[str, Choice]]:
    for subplan, choice in zip(plan.subplans, choices, strict=True):
        yield named(plan, subplan.writes), choice
