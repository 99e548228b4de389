"""What the client is told of a query that can be kept: how it is understood, computed, and warned about."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from textwrap import indent
from typing import Any, Final

from catalog.postgres.signatures import Signatures
from coordinator.planning.planning import Maintainable
from dialect.bound.query import Query
from dialect.bound.text import BoundText
from planner.cost.engines import Choice
from planner.explain.delta_text import delta_text
from planner.explain.engines_text import engines_text, engines_values
from planner.explain.logical_text import text
from planner.explain.look_ups_text import look_ups_text, look_ups_values
from planner.explain.measured_work import MeasuredWork
from planner.explain.schedule_graph import schedule_dot
from planner.explain.schedule_text import (
    NOT_MEASURED,
    curve_text,
    curve_values,
    figure,
    named,
    schedule_text,
    schedule_values,
)
from planner.explain.states_text import states_text, states_values
from planner.explain.steps_text import steps_text, steps_values
from planner.pace.schedule import Arrivals, Schedule
from planner.plan import Planned
from planner.state.choose import StateChoice
from proxy.judging.period_forecast import PeriodForecast
from proxy.wire.verdict import Verdict

_UNKNOWN: Final = (
    "one run, when the trigger fires: how many rows will have arrived by then is not known (see EXPECT)\n"
)
_BLIND: Final = Verdict(
    warning="no early runs are planned: how many rows will arrive before the trigger fires is not known",
    hint="Set EXPECT, or wait until the trigger has fired a few times, so that arrivals can be forecast.",
)
_BLIND_AT_FIRST: Final = Verdict(
    warning="no early runs are planned until it is known how many rows arrive before the trigger fires",
    hint="Set EXPECT, or wait until arrivals can be forecast; until then goal_reachable is NULL.",
    is_news=True,
)


@dataclass(frozen=True, slots=True)
class Explain:
    """What EXPLAIN is to show, and how."""

    format: str
    options: frozenset[str]

    @property
    def costs(self) -> bool:
        """Whether the work of runs is shown."""
        return "COSTS" in self.options


@dataclass(frozen=True, slots=True)
class Explained:
    """A query as it was understood; its schedule, if that was asked for and it is known what comes.

    `is_kept`: whether the plan is the one that the query is computed by; None where there is none yet.
    `status`: that of a query that exists. `measured`: what its parts took under that plan. `from_scratch`:
    the engines that compute it from all rows of its tables. `states`: what is kept for it.
    """

    query: Query
    maintainable: Maintainable
    signatures: Signatures
    forecast: PeriodForecast | None
    schedule: Schedule | None
    states: StateChoice | None
    are_methods_told: bool
    is_kept: bool | None = None
    status: str = "active"
    measured: MeasuredWork = NOT_MEASURED
    from_scratch: tuple[Choice, ...] = ()

    @property
    def planned(self) -> Planned:
        """The plan of the query."""
        return self.maintainable.planned

    def verdict(self, explain: Explain | None) -> Verdict:
        """As the statement asks for it: of CREATE a warning, of EXPLAIN the explanation."""
        if explain is None:
            return self._warned()
        if explain.format == "JSON":
            return Verdict(json.dumps(self._values(explain)))
        if explain.format == "DOT":
            return Verdict(schedule_dot(self.planned.delta, self.schedule, explain.costs))
        blocks = self._phases() if "VERBOSE" in explain.options else []
        blocks += [("Plan", self._plan())] if self.is_kept is not None else []
        blocks += [("Methods", self._methods())] if self.are_methods_told else []
        if "STATE" in explain.options:
            blocks.append(("Looked up", look_ups_text(self.planned.delta)))
            if self.states is not None:
                blocks.append(("States", states_text(self.planned.delta, self.states)))
        blocks += self._scheduled(explain) if self.forecast else []
        blocks.append(("Steps", steps_text(self.planned.delta)))
        shown = (f"  {title}:\n" + indent(block.rstrip("\n"), "    ") for title, block in blocks)
        return Verdict("\n".join(shown))

    def _warned(self) -> Verdict:
        if self.forecast is None or not self.forecast.is_wish:
            return Verdict()
        if self.schedule is None:
            return _BLIND if self.forecast.on_demand else _BLIND_AT_FIRST
        if self.forecast.is_met(self.schedule):
            return Verdict()
        cap = f"the goal cannot be met within MAX_COST = {figure(self.schedule.goal.max_cost)}"
        return Verdict(
            warning=f"{cap}: {_left(self.schedule)}",
            hint="EXPLAIN (CURVE) shows which goals can be met, and what each costs.",
        )

    def _phases(self) -> list[tuple[str, str]]:
        return [
            ("Bound tree", BoundText(self.signatures).query(self.query)),
            ("Logical plan", text(self.planned.translated)),
            ("Unnested plan", text(self.planned.unnested)),
            ("Optimised plan", text(self.planned.optimised)),
            ("Delta plan", delta_text(self.planned.delta)),
        ]

    def _plan(self) -> str:
        match self.is_kept, self.status:
            case False, _:
                by = "the next result is computed by it from scratch"
            case _, "active":
                by = "the query is computed by it"
            case _, "initialising":
                by = "the next result is computed by it"
            case _, status:
                by = f"the query was computed by it, and its status is {status}"
        return f"{self.maintainable.fingerprint}: {by}\n"

    def _methods(self) -> str:
        delta = self.planned.delta
        return "".join(f"{named(delta, subplan.writes)}: {subplan.method}\n" for subplan in delta.subplans)

    def _scheduled(self, explain: Explain) -> list[tuple[str, str]]:
        if self.schedule is None:
            blocks = [("Schedule", _UNKNOWN)] if self._is_wanted(explain) else []
            if explain.costs:
                blocks.append(("From scratch", engines_text(self.planned.delta, self.from_scratch)))
            return blocks
        blocks = [("Expected until the trigger", self._expected())] if explain.costs else []
        blocks += [
            ("Schedule", schedule_text(self.planned.delta, self.schedule, explain.costs, self.measured))
        ]
        if "CURVE" in explain.options:
            blocks.append(("Curve", curve_text(self.planned.delta, self.schedule)))
        return blocks

    def _is_wanted(self, explain: Explain) -> bool:
        """Whether it is asked for that parts are run before the trigger, or what that would cost."""
        return "CURVE" in explain.options or (self.forecast is not None and self.forecast.is_wish)

    def _expected(self) -> str:
        """The changed rows that the period is expected to bring, by table, and how that is known."""
        assert self.forecast is not None
        return "".join(
            f"{name.schema}.{name.name}: {_rows_text(arrivals)}, {self.forecast.sources[name]}\n"
            for name, arrivals in self.forecast.arrivals.items()
        )

    def _values(self, explain: Explain) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self.schedule is not None:
            values |= schedule_values(self.planned.delta, self.schedule, explain.costs, self.measured)
            if explain.costs and self.forecast is not None:
                values["expected"] = [
                    {"table": f"{name.schema}.{name.name}", "source": self.forecast.sources[name]}
                    | asdict(arrivals)
                    for name, arrivals in self.forecast.arrivals.items()
                ]
            if "CURVE" in explain.options:
                values["curve"] = curve_values(self.planned.delta, self.schedule)
            if self.is_kept:
                values["plan"] = self.maintainable.fingerprint
            if "STATE" in explain.options:
                values["looked_up"] = look_ups_values(self.planned.delta)
        elif explain.costs and self.from_scratch:
            values["from_scratch"] = engines_values(self.planned.delta, self.from_scratch)
        if "STATE" in explain.options and self.states is not None:
            values["states"] = states_values(self.planned.delta, self.states)
        values["steps"] = steps_values(self.planned.delta)
        if "VERBOSE" in explain.options:
            values["looked_up"] = look_ups_values(self.planned.delta)
            values["phases"] = {
                title.lower().replace(" ", "_"): block.splitlines() for title, block in self._phases()
            }
        return values


def _rows_text(arrivals: Arrivals) -> str:
    """So many rows as whole numbers; updated ones, which count twice, apart."""
    rows = arrivals.changed
    updates = f" ({figure(arrivals.updates)} updates count twice)" if arrivals.updates else ""
    return f"{rows:.0f} {'row' if round(rows) == 1 else 'rows'}{updates}"


def _left(schedule: Schedule) -> str:
    """What a schedule leaves for the trigger, and what all its runs take."""
    if all(path.pace == 1 for path in schedule.paths):
        return "no early run pays, and all work is left for the trigger"
    left, total = schedule.final_work / schedule.batch_work, schedule.total_work / schedule.batch_work
    return (
        f"{figure(left)} of one batch's work is left for the trigger, and all runs take {figure(total)} "
        "times that work"
    )
