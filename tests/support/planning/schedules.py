"""The schedule of a period, from a plan and what arrives; costs where Spark alone computes."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.postgres.schema import TableName
from planner.algebra.statistics import Statistics
from planner.cost.engines import Costs, EngineLimits
from planner.cost.weights import SPARK, Weights, default_weights
from planner.delta.weighted import DeltaPlan
from planner.pace.choose import scheduled, simulated
from planner.pace.knobs import knobs_of
from planner.pace.schedule import Arrivals, Goal, Schedule


def schedule(
    plan: DeltaPlan, statistics: Statistics, arrivals: Mapping[TableName, Arrivals], costs: Costs, goal: Goal
) -> Schedule:
    """As the product chooses paces, where nothing has been learned of the plan."""
    period = simulated(plan, statistics, arrivals, costs)
    return scheduled(period, goal, knobs_of(goal.paces, period))


def only(weights: Weights | None = None, own: Mapping[int, Weights] | None = None) -> Costs:
    """The costs where Spark alone computes."""
    own_weights = {writes: {SPARK: weights} for writes, weights in (own or {}).items()}
    return Costs((EngineLimits(SPARK),), {SPARK: weights or default_weights(SPARK)}, own_weights)
