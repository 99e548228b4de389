"""What each part of a query looks up by key, and what it has to scan, for EXPLAIN (STATE)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.delta.weighted import DeltaPlan, Moment, Read, Subplan
from planner.delta.weighted_tree import within
from planner.explain.schedule_text import named
from planner.firing.stepwise import LookUp, stepwise


def look_ups_text(plan: DeltaPlan) -> str:
    """A line for each part: the contents that it looks up, with their keys, and those that it scans."""
    return "".join(
        f"{named(plan, subplan.writes)}: {', '.join(_of(plan, subplan)) or 'nothing but changes'}\n"
        for subplan in plan.subplans
    )


def look_ups_values(plan: DeltaPlan) -> dict[str, list[str]]:
    """The same as JSON has it."""
    return {named(plan, subplan.writes): _of(plan, subplan) for subplan in plan.subplans}


def _of(plan: DeltaPlan, subplan: Subplan) -> list[str]:
    return list(dict.fromkeys(_in_order(plan, subplan)))


def _in_order(plan: DeltaPlan, subplan: Subplan) -> Iterator[str]:
    for step in stepwise(subplan):
        if isinstance(step, LookUp):
            names = {field.column: field.name for field in step.fields}
            key = ", ".join(names[column.column] for column in step.keys)
            yield f"{_content(plan, subplan, step.buffer)} by {key}"
            continue
        for node in within(step.outcome):
            if isinstance(node, Read) and node.moment is not Moment.CHANGE:
                yield f"all of {_content(plan, subplan, node.buffer)}"


def _content(plan: DeltaPlan, subplan: Subplan, buffer: int) -> str:
    return "its own rows" if buffer == subplan.writes else named(plan, buffer)
