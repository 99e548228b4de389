"""What runs of a query are expected to cost, by what the catalog knows."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from psycopg import Connection

from catalog.queries.measurements import known_engines, latest_runs
from coordinator.firing.due_rows import SubplanRows
from coordinator.planning.costs import weights_by_engine
from coordinator.planning.period_estimate import PeriodEstimate, estimate_at_first
from coordinator.planning.prepared import Prepared
from coordinator.planning.prices import Prices, taken_to_predicted
from coordinator.planning.statistics import read_statistics
from planner.cost.engines import Costs, EngineLimits


def first_estimate(
    connection: Connection, prepared: Prepared, engines: tuple[EngineLimits, ...]
) -> PeriodEstimate:
    """The estimate of a query for which no paces have been chosen yet."""
    weights = weights_by_engine(known_engines(connection))
    statistics = read_statistics(connection, prepared.tables)
    return estimate_at_first(prepared.work, statistics, Costs(engines, weights))


def run_prices(
    connection: Connection,
    query: UUID,
    estimate: PeriodEstimate,
    due: Mapping[int, SubplanRows],
    everything: Mapping[int, int],
) -> Prices:
    """What computing these rows of subplans, and computing all rows of tables, is expected to take."""
    ratios = taken_to_predicted(latest_runs(connection, query), estimate.simulation.costs)
    return Prices(
        estimate.due_work(due) * ratios.changes, estimate.recompute_work(everything) * ratios.recompute
    )
