"""All phases of the planner, from a bound query to its delta plan."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.postgres.schema import Tables
from dialect.bound.query import Query
from dialect.depth import limited_depth
from dialect.expressions.environment import DEFAULT, Environment
from dialect.expressions.scalar import Scalar
from planner.algebra.logical import DependentPlan, LogicalQuery
from planner.algebra.statistics import Statistics
from planner.delta.derive import derive
from planner.delta.finish import finish
from planner.delta.methods import METHODS, Method
from planner.delta.weighted import DeltaPlan
from planner.optimise.optimise import optimise
from planner.translate.translate import translate
from planner.unnest.unnest import unnest


@dataclass(frozen=True, slots=True)
class Planned:
    """A query after each phase; `values` are the result's columns over those of the delta plan."""

    translated: LogicalQuery[DependentPlan]
    unnested: LogicalQuery
    optimised: LogicalQuery
    delta: DeltaPlan
    values: tuple[Scalar, ...]


def plan(
    query: Query,
    tables: Tables,
    statistics: Statistics,
    rules_off: frozenset[str] = frozenset(),
    methods: tuple[Method, ...] = METHODS,
    environment: Environment = DEFAULT,
) -> Planned:
    """The plan of a query, the same for the same arguments; refuses what cannot be maintained by name."""
    with limited_depth():
        translated = translate(query, tables)
        unnested = unnest(translated)
        optimised = optimise(unnested, tables, statistics, rules_off)
        finished = finish(optimised, environment, long_numbers=statistics.long_numbers)
        delta = derive(finished.query, methods, tables, environment=environment)
        return Planned(translated, unnested, optimised, delta, finished.values)
