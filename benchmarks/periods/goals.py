"""Periods under the paces of each way, at one goal after the other, beside one batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import click

from benchmarks.periods.learning import Learner
from benchmarks.periods.queries import EVENLY, STEPS
from benchmarks.support.measure import Figures, Reading
from benchmarks.support.replay import Measured
from planner.pace import schedule
from planner.pace.choose import scheduled
from planner.pace.knobs import knobs_of
from planner.pace.schedule import Goal, Schedule
from planner.pace.simulation import Pacing, Simulation

GAVIAL, UNIFORM, LEAF, BATCH = "Gavial", "IncObv", "Leaf", "one batch"
WAYS: Final = {
    UNIFORM: schedule.Paces.UNIFORM,
    LEAF: schedule.Paces.LEAF,
    GAVIAL: schedule.Paces.AUTO,
}
EXTRA, LATENCY, SHARE, FIRINGS, MET = "extra CPU s", "final s", "final/batch CPU", "firings", "met"
BELIEVED: Final = "believed share"
PREDICTED: Final = "predicted / measured, total"
PREDICTED_FINAL: Final = "predicted / measured, final"
REACHABLE: Final = "not accepted, at best"
LEFT_OUT: Final = "left out, CPU s expected"
_SAME: Final = 1e-9


@dataclass(slots=True)
class Turn:
    """One turn of a query: its batch, and the paces that were measured in it, which are not again.

    `longest`: what is believed to take more seconds of a processor is left out.
    """

    learner: Learner
    number: int
    longest: float
    known: dict[tuple[Pacing, Sequence[int]], Measured] = field(default_factory=dict)

    def batch(self) -> Reading:
        """Everything in one firing."""
        measured = self._once(self._at_once, EVENLY)
        return Reading(self.learner.name, BATCH, self.number, self.figures(measured))

    def reading(
        self,
        case: str,
        way: str,
        goal: float,
        believed: Simulation | None = None,
        moments: Sequence[int] = EVENLY,
    ) -> Iterator[Reading]:
        """The paces that a way chooses for a goal; not measured where it cannot be met or takes too long."""
        period = believed or self.learner.period()
        found = chosen(period, way, goal)
        paces = tuple(path.pace for path in found.paths)
        words = f"{case} {way} {','.join(map(str, paces))}"
        if found.final_work > goal * found.batch_work * (1 + _SAME):
            click.echo(f"{words}: not accepted, {found.reachable:.3f} at best")
            yield Reading(case, way, self.number, {REACHABLE: found.reachable})
        elif found.total_work > self.longest:
            click.echo(f"{words}: left out, {found.total_work:.0f} s of a processor are expected")
            yield Reading(case, way, self.number, {LEFT_OUT: found.total_work})
        else:
            measured = self._once(paces, moments)
            figures = self.figures(measured)
            figures = {
                **figures,
                MET: float(figures[SHARE] <= goal),
                BELIEVED: found.final_work / found.batch_work,
                PREDICTED: found.total_work / measured.total_cpu,
                PREDICTED_FINAL: found.final_work / measured.final_cpu,
            }
            click.echo(f"{words}: " + ", ".join(f"{name} {value:.3g}" for name, value in figures.items()))
            yield Reading(case, way, self.number, figures)

    def figures(self, measured: Measured) -> Figures:
        """Beside the turn's batch."""
        batch = self._once(self._at_once, EVENLY)
        return {
            EXTRA: measured.total_cpu - batch.total_cpu,
            LATENCY: measured.final_seconds,
            SHARE: measured.final_cpu / batch.final_cpu,
            FIRINGS: float(len(measured.firings)),
        }

    @property
    def _at_once(self) -> Pacing:
        return (1,) * len(self.learner.paths)

    def _once(self, paces: Pacing, moments: Sequence[int]) -> Measured:
        if (paces, moments) not in self.known:
            self.known[paces, moments] = self.learner.replay(paces, moments)
        return self.known[paces, moments]


def goal_readings(learner: Learner, goals: Sequence[float], turns: int, longest: float) -> Iterator[Reading]:
    """One batch, then every way at every goal, as often as there are turns."""
    for number in range(turns):
        turn = Turn(learner, number, longest)
        yield turn.batch()
        for goal in goals:
            for way in WAYS:
                yield from turn.reading(f"{learner.name} {goal:g}", way, goal)


def chosen(period: Simulation, way: str, goal: float) -> Schedule:
    """What a way comes to."""
    aim = Goal(goal, STEPS, paces=WAYS[way], recomputes=False)
    return scheduled(period, aim, knobs_of(aim.paces, period))
