"""What earlier periods have taught of a query: the rows of its subplans, and what its firings cost here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.periods.queries import EVENLY
from benchmarks.support.replay import Measured, replay, work_of
from benchmarks.support.tpch_log import at_first
from benchmarks.support.tpch_warehouse import Laboratory
from catalog.queries.measured import Measured as Seen
from coordinator.firing.work import Work
from coordinator.planning.costs import fitted, fitted_to_subplans
from coordinator.planning.period_estimate import PeriodEstimate
from executors.executor import Engine, Executor
from planner.cost.engines import Costs, EngineLimits
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

    executor: Executor
    engines: tuple[EngineLimits, ...]
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
        arrivals = {
            table: Arrivals(float(self.laboratory.rows(table.name))) for table in self.laboratory.oids
        }
        beginning = at_first(self.laboratory.statistics)
        believed = biased(self.planned, self.corrections, bias)
        return simulated(self.planned.delta, beginning, arrivals, self._costs(), believed)

    def replay(self, paces: Pacing, moments: Sequence[int] = EVENLY) -> Measured:
        """A period under these paces; as in the product, something is learned from each, but of bursts."""
        by_path = dict(zip(self.paths, paces, strict=True))
        period = self.period()
        batch = scheduled(period, Goal(1.0, 1), whole_knob(period.paths))
        estimate = PeriodEstimate(period, batch, self.work.tables)
        measured = replay(self.executor, self.laboratory, self.work, by_path, moments, estimate.engine_for())
        if moments == EVENLY:
            self._learn(paces, estimate, measured)
        return measured

    def _costs(self) -> Costs:
        """What firings cost, by all that were measured, and by those of the query."""
        weights = fitted(self.firings[::-1])
        own = {subplan: seen[::-1] for subplan, seen in self.own.items()}
        return Costs(self.engines, weights, fitted_to_subplans(own, weights))

    def _learn(self, paces: Pacing, estimate: PeriodEstimate, measured: Measured) -> None:
        """What firings cost; from one batch not how often groups change again, if that is known better."""
        for firing in measured.firings:
            for measurement in estimate.measurements(firing.fired):
                if (
                    measurement.features["jobs"]
                    and measurement.engine is not None
                    and not measurement.repeated
                ):
                    subplan = f"{self.name} {measurement.subplan}"
                    seen = Seen(
                        measurement.features,
                        measurement.work,
                        measurement.elapsed,
                        subplan,
                        time.time(),
                        measurement.engine,
                    )
                    self.firings.append(seen)
                    self.own.setdefault(measurement.subplan, []).append(seen)
        if max(paces) > 1 or not self.corrections:
            self.corrections = corrections(estimate.simulation, paces, measured.written)


def learner(
    engine: Engine,
    executor: Executor,
    laboratory: Laboratory,
    name: str,
    planned: Planned,
    firings: Firings,
) -> Learner:
    """One that has seen nothing of the query yet."""
    work = work_of(laboratory, planned)
    engines = engine.engines(work.plan, work.schemas, work.environment)
    return Learner(
        executor=executor,
        engines=engines,
        laboratory=laboratory,
        name=name,
        planned=planned,
        firings=firings,
        work=work,
    )


def biased(planned: Planned, known: Corrections, bias: float) -> Corrections:
    """So many times more rows of every subplan."""
    if bias == 1.0:
        return known
    return {subplan.writes: bias * known.get(subplan.writes, 1.0) for subplan in planned.delta.subplans}
