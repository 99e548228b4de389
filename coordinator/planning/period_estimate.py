"""The estimate of a query's period, compared with what arrived and was run: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from catalog.postgres.schema import TableName
from catalog.queries.executions import Execution, GoalOutcome, Measurement
from coordinator.decide.drift import Worked, has_read_most, rows_were_misjudged, work_has_drifted
from coordinator.decide.pacing import rows_of, tables_below
from coordinator.firing.due_rows import SubplanRows
from coordinator.firing.fresh_rows import NOTHING_READ, FreshRows
from coordinator.firing.outcome import RunOutcome, SubplanOutcome
from coordinator.firing.query_run import ChooseEngine
from coordinator.firing.work import Work
from coordinator.planning.prices import Prices
from coordinator.planning.publishing_cost import Published
from planner.algebra.statistics import Statistics
from planner.cost.engines import Choice, Costs
from planner.pace.choose import scheduled, simulated
from planner.pace.corrections import corrections
from planner.pace.due import DueRows, due_run
from planner.pace.expected import NOTHING_LEARNED, ExpectedRun, Learned
from planner.pace.knobs import whole_knob
from planner.pace.measured import Seen, expected_features, features_of, predicted
from planner.pace.schedule import Arrivals, Goal, Schedule
from planner.pace.scratch import scratch_run
from planner.pace.simulation import Corrections, Pacing, SimulatedSubplan, Simulation


@dataclass(frozen=True, slots=True)
class PeriodEstimate:
    """The period as simulated when its paces were chosen; `tables` by the numbers of their buffers."""

    simulation: Simulation
    schedule: Schedule
    tables: Mapping[int, int]

    def for_kinds(self, kinds: Mapping[TableName, Arrivals]) -> PeriodEstimate:
        """The same where changes of these kinds come, by table."""
        old = self.simulation
        if old.has_kinds(kinds):
            return self
        arrivals = {table.table: old.arrivals[table.number] for table in old.tables}
        simulation = simulated(old.plan, old.statistics, arrivals, old.costs, old.corrections, kinds)
        return replace(self, simulation=replace(simulation, scanned=old.scanned))

    def measurements(self, fired: RunOutcome, fresh: FreshRows = NOTHING_READ) -> tuple[Measurement, ...]:
        """The measurements of each subplan that had anything to do; `fresh`: before it ran."""
        return tuple(
            self._measurement(share, fired.consolidated, fresh) for share in fired.subplans if share.rows_in
        )

    def _measurement(self, share: SubplanOutcome, consolidated: bool, fresh: FreshRows) -> Measurement:
        features, expected = features_of(
            self.simulation,
            share.writes,
            self._seen_by_buffer(share.before, share.arrived, fresh.get(share.writes)),
            share.rows_out,
            consolidated,
        )
        features = {**features, "jobs": float(share.jobs)}
        costs = self.simulation.costs
        engine = share.engine or costs.engines[0].name
        work = predicted(features, costs.weights_of(share.writes, engine))
        return Measurement(
            subplan=share.writes,
            rows_in=share.rows_in,
            rows_out=share.rows_out,
            expected_rows=expected,
            work=share.work,
            elapsed=share.seconds,
            predicted=work,
            features=features,
            engine=share.engine or None,
            reason=share.reason or None,
            repeated=share.repeated,
        )

    def execution(
        self,
        position: int,
        fired: RunOutcome,
        prices: Prices | None,
        from_scratch: bool,
        fresh: FreshRows,
        published: Published | None = None,
    ) -> Execution:
        """What is recorded of a run.

        `prices`: what it was expected to take, if that was asked. `published`: by the run of a trigger.
        """
        measurements = self.measurements(fired, fresh)
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
            publishing_work=None if published is None else published.seconds,
            expected_publishing_work=None if published is None else published.expected,
            measurements=measurements,
        )

    def engine_for(self, fresh: FreshRows = NOTHING_READ, *, consolidates: bool = False) -> ChooseEngine:
        """The engine for the subplan that writes a buffer, when these rows came and those were there."""

        def choose(writes: int, arrived: Mapping[int, int], before: Mapping[int, int]) -> Choice:
            rows = self._seen_by_buffer(before, arrived, fresh.get(writes))
            return self.simulation.costs.choice(
                writes, expected_features(self.simulation, writes, rows, consolidates)
            )

        return choose

    def due_run(
        self,
        rows: Mapping[int, SubplanRows],
        learned: Learned = NOTHING_LEARNED,
        fresh: FreshRows = NOTHING_READ,
    ) -> ExpectedRun:
        """The run that computes these rows of subplans, by the buffers that they write."""
        due = {
            writes: DueRows(self._seen_by_buffer(of.before, of.arrived, fresh.get(writes)), of.along)
            for writes, of in rows.items()
        }
        return due_run(self.simulation, due, learned)

    def scratch_run(
        self, rows: Mapping[int, int], learned: Learned = NOTHING_LEARNED, *, is_first: bool = False
    ) -> ExpectedRun:
        """The run that computes everything from scratch over these changed rows of tables, by buffer."""
        tables = {buffer: float(count) for buffer, count in rows.items()}
        return scratch_run(self.simulation, tables, learned, consolidates=not is_first)

    def outcome(
        self, work: float, arrived: Mapping[int, int], seconds: float, measured_to_predicted: float = 1.0
    ) -> GoalOutcome:
        """How the goal was met by this final work in a period in which these rows arrived.

        The batch work is the model's for all of these rows in one run, multiplied by how much more work
        costs on this machine than the model says; or that from scratch, where that is cheaper.
        """
        goal = self.schedule.goal
        batch = measured_to_predicted * self.batch_work(arrived)
        if goal.recomputes:
            batch = min(batch, self.schedule.recompute_work)
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
        believed = self.simulation.simulate(paces).final
        if self.schedule.goal.seconds is not None:
            return work_has_drifted(believed * self.simulation.costs.latency, left * costs.latency)
        believed_batch = self.simulation.simulate((1,) * len(paces)).final
        return work_has_drifted(believed * batch, left * believed_batch)

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
            buffer: expected.scaled(arrived.get(self.tables[buffer], 0))
            for buffer, expected in self.simulation.arrivals.items()
        }
        return replace(self.simulation, arrivals=arrivals)

    def _seen_by_buffer(
        self, before: Mapping[int, int], arrived: Mapping[int, int], fresh: Mapping[int, int] | None
    ) -> Mapping[int, Seen]:
        """The rows of buffers, of which these were there before and these arrived."""
        unread = before if fresh is None else fresh
        return {
            buffer: replace(self._seen(buffer, rows, arrived.get(buffer, 0)), fresh=unread.get(buffer, 0))
            for buffer, rows in before.items()
        }

    def _seen(self, buffer: int, before: int, arrived: int) -> Seen:
        """The arrived rows, of which the usual share is taken to be retractions."""
        share = self.simulation.retracted_share(buffer)
        return Seen(before, arrived * (1.0 - share), arrived * share)


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


def kind_of(rows: float, updates: float, deletes: float) -> Arrivals:
    """Arrivals in the proportions of these changes; all inserts if there were none."""
    return Arrivals(rows - 2 * updates - deletes, updates, deletes) if rows else Arrivals(1.0)


def as_stated(kind: Arrivals, rows: float) -> Arrivals:
    """As many arrivals as EXPECT says, each kind in proportion; EXPECT counts an update once."""
    factor = rows / (kind.inserts + kind.updates + kind.deletes)
    return Arrivals(kind.inserts * factor, kind.updates * factor, kind.deletes * factor)
