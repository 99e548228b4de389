"""A schedule as text and as values to read: the same for the same schedule, numbers to three digits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isclose, isinf
from typing import Any, Final

from planner.delta.weighted import DeltaPlan, NodeBuffer, TableBuffer
from planner.explain.curve_steps import telling_steps
from planner.explain.measured_work import MeasuredWork, Took
from planner.pace.paths import Path
from planner.pace.schedule import Paces, PathPlan, Point, Schedule, SubplanPlan

NOT_MEASURED: Final = MeasuredWork()
_SAME: Final = 1e-9
_COSTS: Final = frozenset(
    (
        "final_work",
        "total_work",
        "batch_work",
        "recompute_work",
        "measured_recompute_work",
        "measured_work",
        "engine",
        "engine_reason",
        "reachable",
        "work",
        "incrementability",
    )
)
_FORCED: Final = {Paces.UNIFORM: "one for the whole query", Paces.LEAF: "one for each path from a table"}


def schedule_text(
    plan: DeltaPlan, schedule: Schedule, costs: bool = True, measured: MeasuredWork = NOT_MEASURED
) -> str:
    """The subplans from the result down, how often each is run and why no more often; with `costs`, its work.

    A subplan that several read is described where it comes first.
    """
    lines = _Lines(plan, schedule, costs, measured)
    return "\n".join([*lines.summary(), *lines.subplan(plan.result, "")]) + "\n"


def curve_text(plan: DeltaPlan, schedule: Schedule) -> str:
    """A line for each step of the search that tells something; work as shares of the batch's.

    The plan that is used is marked; paces that were kept need not be those of a step.
    """
    whole = schedule.goal.paces is Paces.UNIFORM
    points = list(_shares(schedule))
    batch = schedule.batch_work or 1.0
    used = schedule.final_work / batch, schedule.total_work / batch
    places = {place for place, point in enumerate(points) if _is_at(point, used)}
    shown = sorted({*telling_steps([point.final_work for point in points]), *places})
    lines = [(points[place], _raised(plan, points[place], whole), place in places) for place in shown]
    if not places:
        lines.append((Point(*used, (), 1), "the paces that are kept", True))
    return "".join(
        f"final {figure(point.final_work)}, total {figure(point.total_work)}: {raised}"
        f"{' (used)' if is_used else ''}\n"
        for point, raised, is_used in lines
    )


def schedule_values(
    plan: DeltaPlan, schedule: Schedule, costs: bool = True, measured: MeasuredWork = NOT_MEASURED
) -> dict[str, Any]:
    """The schedule as JSON has it, with `costs` or without; work in seconds of a processor."""
    methods = {subplan.writes: subplan.method for subplan in plan.subplans}
    values = {
        "paces": schedule.goal.paces.value,
        "goal": schedule.goal.final_work if schedule.goal.seconds is None else f"{schedule.goal.seconds} s",
        "final_work": rounded(schedule.final_work),
        "total_work": rounded(schedule.total_work),
        "batch_work": rounded(schedule.batch_work),
        "recompute_work": rounded(schedule.recompute_work),
        "reachable": rounded(schedule.reachable),
        "measured_recompute_work": _took(measured.from_scratch),
        "max_cost": schedule.goal.max_cost,
        "subplans": [
            {
                "subplan": named(plan, subplan.writes),
                "method": methods[subplan.writes],
                "runs": len(subplan.firings),
                "work": rounded(sum(subplan.firings)),
                "final_work": rounded(subplan.firings[-1]),
                "engine": subplan.engines[-1],
                "engine_reason": subplan.reason,
                "measured_work": _took(measured.subplans.get(subplan.writes)),
                "paths": [_path_values(plan, path) for path in _paths_of(schedule, subplan.writes)],
            }
            for subplan in schedule.subplans
        ],
    }
    return values if costs else _without_costs(values)


def curve_values(plan: DeltaPlan, schedule: Schedule) -> list[dict[str, Any]]:
    """The steps of the search as JSON has them; work as shares of the batch's."""
    return [
        {
            "final_work": rounded(point.final_work),
            "total_work": rounded(point.total_work),
            "pace": point.pace,
            "raised": [_named_path(plan, path) for path in point.raised],
        }
        for point in _shares(schedule)
    ]


def named(plan: DeltaPlan, buffer: int) -> str:
    """The name of a table, or the kind and number of a node."""
    match plan.buffers[buffer]:
        case TableBuffer(table=table):
            return f"{table.schema}.{table.name}"
        case NodeBuffer(number=number, what=what):
            return f"{what} {number}"


def figure(value: float) -> str:
    """The number to three digits, as text."""
    return "infinite" if isinf(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def rounded(value: float | None) -> float | str | None:
    """The number to three digits; infinity as a word, which JSON has no number for."""
    if value is None or isinf(value):
        return None if value is None else "infinite"
    return float(f"{value:.3g}")


class _Lines:
    def __init__(self, plan: DeltaPlan, schedule: Schedule, costs: bool, measured: MeasuredWork) -> None:
        self._measured = measured
        self._plan = plan
        self._schedule = schedule
        self._costs = costs
        self._subplans = {subplan.writes: subplan for subplan in schedule.subplans}
        self._described: set[int] = set()

    def summary(self) -> Iterator[str]:
        """The work left for the trigger, the goal and the total work; and which paces are forced."""
        if self._costs:
            yield from self._totals()
        if self._schedule.goal.paces in _FORCED:
            yield f"Paces: forced to {_FORCED[self._schedule.goal.paces]}"

    def _totals(self) -> Iterator[str]:
        schedule, batch = self._schedule, self._schedule.batch_work
        seconds = schedule.goal.seconds
        goal = figure(schedule.goal.final_work) if seconds is None else f"{figure(seconds)} s"
        share = schedule.final_work / batch if batch else 0.0
        total = schedule.total_work / batch if batch else 0.0
        best = f"at best {figure(schedule.reachable)} with MAX_COST = {figure(schedule.goal.max_cost)}"
        yield f"Final work: {figure(share)} of the batch's, goal {goal}, {best}"
        yield f"Total work: {figure(total)} of the batch's"
        took = self._measured.from_scratch
        last = "" if took is None else f" (the last time it took {figure(took.work)} s)"
        scratch = f"from scratch: {figure(schedule.recompute_work)} s{last}"
        yield f"Batch: {figure(batch)} s of a processor, {scratch}"

    def subplan(self, writes: int, indent: str) -> Iterator[str]:
        """The lines of a subplan and of what it reads."""
        subplan = self._subplans[writes]
        firings = f"{len(subplan.firings)} run{'s' if len(subplan.firings) > 1 else ''}"
        work = f", {figure(sum(subplan.firings))} s in all, {figure(subplan.firings[-1])} s at the trigger"
        yield f"{indent}{named(self._plan, writes)}: {firings}{work if self._costs else ''}"
        if self._costs:
            yield from (f"{indent}  {line}" for line in self._engine(subplan))
        self._described.add(writes)
        for path in _paths_of(self._schedule, writes):
            yield f"{indent}  {named(self._plan, path.path.reads)} at pace {path.pace}{self._worth(path)}"
            if path.path.reads in self._subplans and path.path.reads not in self._described:
                yield from self.subplan(path.path.reads, indent + "    ")

    def _engine(self, subplan: SubplanPlan) -> Iterator[str]:
        """What is to compute it at the trigger and why, if there is a choice; and what its last run took."""
        parts = []
        if subplan.reason:
            engine, others = subplan.engines[-1], Counter(subplan.engines[:-1])
            del others[engine]
            earlier = "".join(f", {count} earlier by {name}" for name, count in sorted(others.items()))
            parts.append(f"by {engine}{earlier}: {subplan.reason}")
        if (took := self._measured.subplans.get(subplan.writes)) is not None:
            parts.append(f"the last run took {figure(took.work)} s, predicted {figure(took.predicted)} s")
        if parts:
            yield "; ".join(parts)

    def _worth(self, path: PathPlan) -> str:
        worth = path.incrementability
        known = f", incrementability {figure(worth)}" if self._costs and worth is not None else ""
        return f"{known}: {path.reason}"


def _took(took: Took | None) -> dict[str, float | str | None] | None:
    return None if took is None else {"work": rounded(took.work), "predicted": rounded(took.predicted)}


def _without_costs(value: Any) -> Any:
    """The same values, at any depth, without those that are costs."""
    match value:
        case dict():
            return {key: _without_costs(inner) for key, inner in value.items() if key not in _COSTS}
        case list():
            return [_without_costs(inner) for inner in value]
        case _:
            return value


def _paths_of(schedule: Schedule, writes: int) -> list[PathPlan]:
    return [path for path in schedule.paths if path.path.writes == writes]


def _path_values(plan: DeltaPlan, path: PathPlan) -> dict[str, Any]:
    return {
        "reads": named(plan, path.path.reads),
        "pace": path.pace,
        "incrementability": rounded(path.incrementability),
        "reason": path.reason,
    }


def _shares(schedule: Schedule) -> Iterator[Point]:
    batch = schedule.batch_work or 1.0
    for point in schedule.curve:
        yield Point(point.final_work / batch, point.total_work / batch, point.raised, point.pace)


def _is_at(point: Point, used: tuple[float, float]) -> bool:
    """Whether the work of a step is that of the plan that is used, but for how numbers are added up."""
    return isclose(point.final_work, used[0], rel_tol=_SAME) and isclose(
        point.total_work, used[1], rel_tol=_SAME
    )


def _raised(plan: DeltaPlan, point: Point, whole: bool) -> str:
    if not point.raised:
        return "one run"
    paths = "all" if whole else ", ".join(_named_path(plan, path) for path in point.raised)
    return f"pace {point.pace} of {paths}"


def _named_path(plan: DeltaPlan, path: Path) -> str:
    return f"{named(plan, path.reads)} to {named(plan, path.writes)}"
