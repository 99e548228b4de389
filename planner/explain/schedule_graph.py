"""A delta plan as a graph for Graphviz: its subplans, what each reads, and at which pace if that is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.delta.weighted import DeltaPlan, TableBuffer
from planner.explain.schedule_text import figure, named
from planner.pace.paths import Path, paths
from planner.pace.schedule import Schedule

_LOOK: Final = (
    '  node [shape = box, style = rounded, fontname = "Helvetica", fontsize = 11];',
    '  edge [fontname = "Helvetica", fontsize = 10];',
)


def schedule_dot(plan: DeltaPlan, schedule: Schedule | None, costs: bool = True) -> str:
    """A node for each buffer, cylinders for tables; with `costs` its work and engine; edges for paths."""
    nodes = _nodes(plan, schedule if costs else None)
    return "\n".join(["digraph {", "  rankdir = BT;", *_LOOK, *nodes, *_edges(plan, schedule), "}"])


def _nodes(plan: DeltaPlan, schedule: Schedule | None) -> Iterator[str]:
    subplans = {subplan.writes: subplan for subplan in schedule.subplans} if schedule else {}
    for buffer in plan.buffers:
        lines = [named(plan, buffer.number)]
        if (subplan := subplans.get(buffer.number)) is not None:
            works = subplan.firings
            lines.append(f"{figure(sum(works))} s in all, {figure(works[-1])} s at the trigger")
            lines.append(f"by {subplan.engines[-1]}")
        shape = ", style = solid, shape = cylinder" if isinstance(buffer, TableBuffer) else ""
        yield f"  {buffer.number} [label = {_quoted(lines)}{shape}];"


def _edges(plan: DeltaPlan, schedule: Schedule | None) -> Iterator[str]:
    paces: dict[Path, int] = {path.path: path.pace for path in schedule.paths} if schedule else {}
    for path in paths(plan):
        label = f' [label = "pace {paces[path]}"]' if path in paces else ""
        yield f"  {path.reads} -> {path.writes}{label};"


def _quoted(lines: list[str]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
