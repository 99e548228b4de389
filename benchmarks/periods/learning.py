"""What earlier periods have taught of a query: the rows of its subplans, and what its firings cost here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from benchmarks.periods.queries import EVENLY
from benchmarks.support.replay import Measured, replay, work_of
from benchmarks.support.tpch_log import at_first
from benchmarks.support.tpch_warehouse import Laboratory
from catalog.queries.measured import Measured as Seen
from coordinator.firing.work import Work
from coordinator.planning.period_estimate import PeriodEstimate
from planner.cost.fitting import fit
from planner.cost.weights import Weights
from planner.pace.choose import scheduled, simulated
from planner.pace.corrections import corrections
from planner.pace.knobs import whole_knob
from planner.pace.paths import Path, paths
from planner.pace.schedule import Arrivals, Goal
from planner.pace.simulation import Corrections, Pacing, Simulation
from planner.plan import Planned

Firings = list[Seen]
"""Those of all queries, the latest last."""


@dataclass(slots=True)
class Learner:
    """Of one query; a period begins with nothing, and all rows come in it."""

    session: SparkSession
    laboratory: Laboratory
    name: str
    planned: Planned
    firings: Firings
    work: Work
    corrections: Corrections = field(default_factory=dict)
    own: dict[int, Firings] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Of its plan, in their order."""
        return paths(self.planned.delta)

    def period(self, bias: float = 1.0) -> Simulation:
        """The next one, as it is expected; the rows of each subplan are believed to be so many times more."""
        arrivals = {each: Arrivals(float(self.laboratory.rows(each.name))) for each in self.laboratory.oids}
        beginning = at_first(self.laboratory.statistics)
        believed = biased(self.planned, self.corrections, bias)
        weights = fit(self.firings[::-1]) if self.firings else Weights()
        own = {subplan: fit(seen[::-1], weights) for subplan, seen in self.own.items()}
        return simulated(self.planned.delta, beginning, arrivals, weights, believed, own)

    def replay(self, paces: Pacing, moments: Sequence[int] = EVENLY) -> Measured:
        """A period under these paces; as in the product, something is learned from each, but of bursts."""
        by_path = dict(zip(self.paths, paces, strict=True))
        measured = replay(self.session, self.laboratory, self.work, by_path, moments)
        if moments == EVENLY:
            self._learn(paces, measured)
        return measured

    def _learn(self, paces: Pacing, measured: Measured) -> None:
        """What firings cost; from one batch not how often groups change again, if that is known better."""
        period = self.period()
        estimate = PeriodEstimate(
            period, scheduled(period, Goal(1.0, 1), whole_knob(period.paths)), self.work.tables
        )
        for firing in measured.firings:
            for each in estimate.measurements(firing.fired):
                if each.features["jobs"]:
                    seen = Seen(each.features, each.work, each.elapsed, f"{self.name} {each.subplan}")
                    self.firings.append(seen)
                    self.own.setdefault(each.subplan, []).append(seen)
        if max(paces) > 1 or not self.corrections:
            self.corrections = corrections(period, paces, measured.written)


def learner(
    session: SparkSession, laboratory: Laboratory, name: str, planned: Planned, firings: Firings
) -> Learner:
    """One that has seen nothing of the query yet."""
    return Learner(session, laboratory, name, planned, firings, work_of(laboratory, planned))


def biased(planned: Planned, known: Corrections, bias: float) -> Corrections:
    """So many times more rows of every subplan."""
    if bias == 1.0:
        return known
    return {subplan.writes: bias * known.get(subplan.writes, 1.0) for subplan in planned.delta.subplans}
