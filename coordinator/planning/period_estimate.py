"""The estimate of a query's period, compared with what arrived and was run: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from catalog.postgres.schema import TableName
from catalog.queries.executions import Execution, GoalOutcome, Measurement
from coordinator.decide.drift import Worked, has_read_most, rows_were_misjudged, work_has_drifted
from coordinator.decide.pacing import rows_of, tables_below
from coordinator.firing.due_rows import SubplanRows
from coordinator.firing.outcome import RunOutcome, SubplanOutcome
from coordinator.firing.work import Work
from coordinator.planning.prices import Prices
from planner.algebra.statistics import Statistics
from planner.cost.engines import Choice, Costs
from planner.pace.choose import scheduled, simulated
from planner.pace.corrections import corrections
from planner.pace.due import DueRows, due_work
from planner.pace.knobs import whole_knob
from planner.pace.measured import Seen, expected_features, features_of, predicted
from planner.pace.schedule import Arrivals, Goal, Schedule
from planner.pace.simulation import Corrections, Pacing, SimulatedSubplan, Simulation


@dataclass(frozen=True, slots=True)
class PeriodEstimate:
    """The period as simulated when its paces were chosen; `tables` by the numbers of their buffers."""

    simulation: Simulation
    schedule: Schedule
    tables: Mapping[int, int]

    def measurements(self, fired: RunOutcome) -> tuple[Measurement, ...]:
        """The measurements of each subplan that had anything to do."""
        return tuple(self._measurement(share) for share in fired.subplans if share.rows_in)

    def _measurement(self, share: SubplanOutcome) -> Measurement:
        features = self._features(share)
        costs = self.simulation.costs
        engine = share.engine or costs.engines[-1].name
        work = predicted(features, costs.weights_of(share.writes, engine))
        return Measurement(
            subplan=share.writes,
            rows_in=share.rows_in,
            rows_out=share.rows_out,
            work=share.work,
            elapsed=share.seconds,
            predicted=work,
            features=features,
            engine=share.engine or None,
            reason=share.reason or None,
            repeated=share.repeated,
        )

    def execution(
        self, position: int, fired: RunOutcome, prices: Prices | None, from_scratch: bool
    ) -> Execution:
        """What is recorded of a run; `prices`: what it was expected to take, if there was a choice."""
        measurements = self.measurements(fired)
        return Execution(
            position=position,
            rows_in=fired.rows_in,
            rows_out=fired.rows_out,
            jobs=fired.jobs,
            cpu_seconds=fired.processor_seconds,
            measured_work=fired.work,
            predicted_work=sum(measurement.predicted for measurement in measurements),
            engine=fired.engines or None,
            from_scratch=from_scratch,
            changes_work=None if prices is None else prices.changes,
            recompute_work=None if prices is None else prices.recompute,
            measurements=measurements,
        )

    def engine_for(self, writes: int, arrived: Mapping[int, int], before: Mapping[int, int]) -> Choice:
        """The engine for the subplan that writes this buffer, when these rows came and those were there."""
        rows_of_buffers = {
            buffer: self._seen(buffer, rows, arrived.get(buffer, 0)) for buffer, rows in before.items()
        }
        features = expected_features(self.simulation, writes, rows_of_buffers)
        return self.simulation.costs.choice(writes, features)

    def due_work(self, rows: Mapping[int, SubplanRows]) -> float:
        """The work of a run that computes these rows of subplans, by the buffers that they write."""
        due = {
            writes: DueRows(
                {
                    buffer: self._seen(buffer, before, of.arrived.get(buffer, 0))
                    for buffer, before in of.before.items()
                },
                of.along,
            )
            for writes, of in rows.items()
        }
        return due_work(self.simulation, due)

    def recompute_work(self, rows: Mapping[int, int]) -> float:
        """The work of computing everything from scratch over these changed rows of tables, by buffer."""
        return sum(choice.work for choice in self.simulation.recompute(rows))

    def outcome(
        self, work: float, arrived: Mapping[int, int], seconds: float, measured_to_predicted: float = 1.0
    ) -> GoalOutcome:
        """How the goal was met by this final work in a period in which these rows arrived.

        The batch work is the model's for all of these rows in one run, multiplied by how much more work
        costs on this machine than the model says.
        """
        goal = self.schedule.goal
        batch = measured_to_predicted * self.batch_work(arrived)
        share = work / batch if batch else 0.0
        is_met = None  # where nothing arrived, no goal could be missed
        if any(arrived.values()):
            is_met = share <= goal.final_work if goal.seconds is None else seconds <= goal.seconds
        return GoalOutcome(goal.final_work if goal.seconds is None else None, share, batch, seconds, is_met)

    def batch_work(self, arrived: Mapping[int, int]) -> float:
        """The work of these rows, by table, in one run."""
        return self._replayed(arrived).simulate((1,) * len(self.simulation.paths)).final

    def cost_has_changed(self, costs: Costs) -> bool:
        """Whether the present cost of runs changes how much work is left for the trigger."""
        now = replace(self.simulation, costs=costs)
        paces = tuple(path.pace for path in self.schedule.paths)
        left, batch = now.simulate(paces).final, now.simulate((1,) * len(paces)).final
        if self.schedule.goal.seconds is not None:
            believed = self.schedule.final_work * self.simulation.costs.latency
            return work_has_drifted(believed, left * costs.latency)
        return work_has_drifted(self.schedule.final_work * batch, left * self.schedule.batch_work)

    def misjudged_subplans(self, worked: Worked) -> Mapping[int, int]:
        """The subplans that have read most of the arrived rows and wrote far more or fewer than estimated."""
        below = tables_below(self.simulation.plan, self.tables)
        read = [
            has_read_most(worked.rows_at_last_run.get(number, 0), rows_of(below[path], worked.arrived))
            for number, path in enumerate(self.simulation.paths)
        ]
        subplans = self._worked(worked.arrived, worked.firings)
        misjudged_rows = {}
        for place, subplan in enumerate(self.simulation.plan.subplans):
            rows = worked.written.get(subplan.writes, 0)
            believed = float(subplans[place].written.changes.gross[-1])
            if all(read[path] for path in self.simulation.below[place]) and rows_were_misjudged(
                rows, believed
            ):
                misjudged_rows[subplan.writes] = rows
        return misjudged_rows

    def corrections(
        self, arrived: Mapping[int, int], firings: Mapping[int, int], written: Mapping[int, int]
    ) -> Corrections:
        """The factors between written and estimated rows of subplans, for the rows that arrived.

        `firings`: the number of runs by path.
        """
        return corrections(self._replayed(arrived), self._paces(firings), written)

    def _worked(self, arrived: Mapping[int, int], firings: Mapping[int, int]) -> tuple[SimulatedSubplan, ...]:
        """The simulated period with these rows, by table, and these runs, by path."""
        return self._replayed(arrived).simulate(self._paces(firings)).subplans

    def _paces(self, firings: Mapping[int, int]) -> Pacing:
        """Paces that run each path as often as it was run."""
        return tuple(max(firings.get(number, 1), 1) for number in range(len(self.simulation.paths)))

    def _replayed(self, arrived: Mapping[int, int]) -> Simulation:
        """The simulation of the period with the rows that arrived, by table."""
        arrivals = {
            buffer: scaled(expected, arrived.get(self.tables[buffer], 0))
            for buffer, expected in self.simulation.arrivals.items()
        }
        return replace(self.simulation, arrivals=arrivals)

    def _features(self, share: SubplanOutcome) -> Mapping[str, float]:
        rows_of_buffers = {
            buffer: self._seen(buffer, rows, share.arrived.get(buffer, 0))
            for buffer, rows in share.before.items()
        }
        features = features_of(self.simulation, share.writes, rows_of_buffers, share.rows_out)
        return {**features, "jobs": float(share.jobs)}

    def _seen(self, buffer: int, before: int, arrived: int) -> Seen:
        """The arrived rows, of which the expected share is taken to be retractions."""
        share = self._retracted(buffer)
        return Seen(before, arrived * (1.0 - share), arrived * share)

    def _retracted(self, buffer: int) -> float:
        if buffer in self.tables:
            expected = self.simulation.arrivals[buffer]
            gone = expected.updates + expected.deletes
            return gone / changed_rows(expected) if gone else 0.0
        paces = (1,) * len(self.simulation.paths)
        places = [subplan.writes for subplan in self.simulation.plan.subplans]
        changes = self.simulation.simulate(paces).subplans[places.index(buffer)].written.changes
        gone = float(changes.replacements[-1] + changes.deletes[-1])
        return gone / float(changes.gross[-1]) if gone else 0.0


def estimate_at_first(work: Work, statistics: Statistics, costs: Costs) -> PeriodEstimate:
    """The estimate of a query for which no paces have been chosen: all is computed at the trigger."""
    simulation = simulated(work.plan, statistics, {}, costs)
    return PeriodEstimate(
        simulation, scheduled(simulation, Goal(1.0, 1), whole_knob(simulation.paths)), work.tables
    )


def at_the_beginning(statistics: Statistics, arrived: Mapping[TableName, Arrivals]) -> Statistics:
    """The statistics as they were before these rows arrived."""
    tables = dict(statistics.tables)
    for name, arrival in arrived.items():
        known = statistics.of(name)
        tables[name] = replace(known, rows=max(known.rows - arrival.inserts + arrival.deletes, 1.0))
    return Statistics(tables)


def changed_rows(arrivals: Arrivals) -> float:
    """The number of changed rows of these arrivals: an update is two."""
    return arrivals.inserts + 2 * arrivals.updates + arrivals.deletes


def kind_of(rows: float, updates: float, deletes: float) -> Arrivals:
    """Arrivals in the proportions of these changes; all inserts if there were none."""
    return Arrivals(rows - 2 * updates - deletes, updates, deletes) if rows else Arrivals(1.0)


def as_stated(kind: Arrivals, rows: float) -> Arrivals:
    """As many arrivals as EXPECT says, each kind in proportion; EXPECT counts an update once."""
    factor = rows / (kind.inserts + kind.updates + kind.deletes)
    return Arrivals(kind.inserts * factor, kind.updates * factor, kind.deletes * factor)


def scaled(arrivals: Arrivals, rows: float) -> Arrivals:
    """Arrivals of this many changed rows, each kind in proportion; all inserts if none were expected."""
    expected = changed_rows(arrivals)
    if not expected:
        return Arrivals(rows)
    factor = rows / expected
    return Arrivals(arrivals.inserts * factor, arrivals.updates * factor, arrivals.deletes * factor)
