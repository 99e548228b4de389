"""Aggregates of distinct values, rewritten as plain aggregates over distinct rows."""

from __future__ import annotations

from dataclasses import replace

from planner.algebra.columns import Numbers, passing, refer
from planner.algebra.logical import Aggregate, AggregateCall, Aggregated, Computed, Distinct, Project


def distinct_first(aggregate: Aggregate, numbers: Numbers) -> Aggregate:
    """count(DISTINCT x) by k = count(x) by k over the distinct pairs of k and x.

    Only where all calls are DISTINCT over the same values; another call would lose its duplicates.
    """
    values = {column.call.arguments for column in aggregate.columns if column.call.distinct}
    if len(values) != 1 or not all(_is_plain(column.call) for column in aggregate.columns):
        return aggregate
    [arguments] = values
    computed = tuple(Computed(numbers.field("value", argument.type), argument) for argument in arguments)
    rows = Distinct(Project(aggregate.input, (*passing(aggregate.keys), *computed)))
    given = tuple(refer(column.field) for column in computed)
    calls = tuple(
        Aggregated(column.field, replace(column.call, arguments=given, distinct=False))
        for column in aggregate.columns
    )
    return Aggregate(rows, aggregate.keys, calls)


def _is_plain(call: AggregateCall) -> bool:
    return call.distinct and not call.order and call.condition is None
