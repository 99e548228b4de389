"""What runs of a query are expected to cost, by what the catalog knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from psycopg import Connection

from catalog.capture.arrivals import known_arrivals
from catalog.postgres.schema import Table, TableName
from catalog.queries.measurements import known_engines, latest_runs, latest_runs_of_all, parts_of
from coordinator.firing.due_rows import SubplanRows
from coordinator.firing.fresh_rows import FreshRows
from coordinator.planning.costs import weights_by_engine
from coordinator.planning.expected_rows import kinds_of
from coordinator.planning.period_estimate import PeriodEstimate, estimate_at_first
from coordinator.planning.prepared import Prepared
from coordinator.planning.prices import Experience, Prices, experience_from
from coordinator.planning.publishing_cost import ResultRows
from coordinator.planning.statistics import read_statistics
from planner.cost.engines import Costs, EngineLimits
from planner.pace.schedule import Arrivals


def first_estimate(
    connection: Connection, prepared: Prepared, engines: tuple[EngineLimits, ...]
) -> PeriodEstimate:
    """The estimate of a query for which no paces have been chosen yet."""
    weights = weights_by_engine(known_engines(connection))
    statistics = read_statistics(connection, prepared.tables)
    return estimate_at_first(prepared.work, statistics, Costs(engines, weights))


def arriving_kinds(
    connection: Connection, query: UUID, tables: Sequence[Table]
) -> Mapping[TableName, Arrivals]:
    """The kinds of changes that come to the tables of a query, in proportion."""
    oids = [table.oid for table in tables]
    kinds = kinds_of(known_arrivals(connection, query, oids), oids)
    return {table.name: kinds[table.oid] for table in tables}


def experience_of(connection: Connection, query: UUID, costs: Costs) -> Experience:
    """What the latest runs of a query teach; of a kind that there were none of, those of others."""
    runs = latest_runs(connection, query)
    own = experience_from(runs, parts_of(connection, runs), costs)
    if own.changes and own.recompute:
        return own
    others = [run for kind in (False, True) for run in latest_runs_of_all(connection, kind)]
    return own.beside(experience_from(others, parts_of(connection, others), replace(costs, own={})))


@dataclass(frozen=True, slots=True)
class RunRows:
    """The rows that a run finds.

    `due`: those of subplans that are due, by the buffers that they write; `everything`: all changed rows of
    the tables; `unpublished`: the changed rows of the result that earlier runs have computed.
    """

    due: Mapping[int, SubplanRows]
    everything: Mapping[int, int]
    fresh: FreshRows
    unpublished: int
    result: ResultRows


def run_prices(connection: Connection, query: UUID, estimate: PeriodEstimate, rows: RunRows) -> Prices:
    """What computing the rows that are due, and computing all rows of tables, is expected to take."""
    experience = experience_of(connection, query, estimate.simulation.costs)
    by_changes = estimate.due_run(rows.due, experience.written, rows.fresh)
    from_scratch = estimate.scratch_run(rows.everything, experience.written)
    return Prices(
        experience.changes_work(by_changes, rows.unpublished, rows.result),
        experience.recompute_work(from_scratch, rows.result),
    )


def first_price(
    connection: Connection,
    query: UUID,
    estimate: PeriodEstimate,
    everything: Mapping[int, int],
    result: ResultRows,
) -> Prices:
    """What the first result is expected to take, which is computed from all rows of tables."""
    experience = experience_of(connection, query, estimate.simulation.costs)
    run = estimate.scratch_run(everything, experience.written, is_first=True)
    return Prices(None, experience.recompute_work(run, result))
