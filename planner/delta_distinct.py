"""Aggregates of different values, as aggregates of all values where each comes once."""

from __future__ import annotations

from dataclasses import replace

from planner.columns import Numbers, passing, refer
from planner.logical import Aggregate, AggregateCall, Aggregated, Computed, Distinct, Project


def distinct_first(aggregate: Aggregate, numbers: Numbers) -> Aggregate:
    """count(DISTINCT x) by k = count(x) by k over the different pairs of k and x: which can be counted.

    Only where all calls are of the same different values; else some would lose their repetitions.
    """
    values = {each.call.arguments for each in aggregate.columns if each.call.distinct}
    if len(values) != 1 or not all(_is_plain(each.call) for each in aggregate.columns):
        return aggregate
    [arguments] = values
    computed = tuple(Computed(numbers.field("value", each.type), each) for each in arguments)
    rows = Distinct(Project(aggregate.input, (*passing(aggregate.keys), *computed)))
    given = tuple(refer(each.field) for each in computed)
    calls = tuple(
        Aggregated(each.field, replace(each.call, arguments=given, distinct=False))
        for each in aggregate.columns
    )
    return Aggregate(rows, aggregate.keys, calls)


def _is_plain(call: AggregateCall) -> bool:
    return call.distinct and not call.order and call.condition is None
