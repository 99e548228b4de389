"""Inner joins of many inputs against the definition: halves that are joined first, whatever connects them."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from catalog.postgres.types import BOOLEAN
from executors.reference.firing import Changes
from planner.algebra.columns import Numbers, refer
from planner.algebra.conditions import conjunction
from planner.algebra.logical import Join, JoinKind, LogicalQuery, Output, Plan, Scan, fields
from planner.delta import inner_joins
from planner.delta.derive import derive
from tests.planner.test_delta import follow
from tests.support.planning.random_plans import FILLED, INTEGERS, TABLES, call, columns_of, commits, queries


@st.composite
def joined(draw: st.DrawFn) -> LogicalQuery:
    """A chain, a star or any tree of joins, some of its inputs connected by nothing."""
    numbers = Numbers()
    tables = draw(st.lists(st.sampled_from((INTEGERS, FILLED)), min_size=4, max_size=6))
    inputs = [Scan(table.name, "i", columns_of(table, numbers)) for table in tables]
    shape = draw(st.sampled_from(("chain", "star", "tree")))
    plan: Plan = inputs[0]
    for place, table in enumerate(inputs[1:]):
        before = {"chain": place, "star": 0, "tree": draw(st.integers(0, place))}[shape]
        connected = draw(st.integers(0, 9)) > 0
        one, other = (draw(st.sampled_from(fields(scan))) for scan in (inputs[before], table))
        equal = call(65, "=", BOOLEAN, refer(one), refer(other))
        plan = Join(JoinKind.INNER, plan, table, conjunction([equal] if connected else []))
    outputs = draw(st.lists(st.sampled_from(fields(plan)), max_size=4))
    return LogicalQuery(plan, tuple(Output(output.name, output.column) for output in outputs))


@pytest.mark.parametrize("most", [1, 2])
@settings(max_examples=60)
@given(query=joined() | queries(), changes=commits(most=3))
def test_halves_are_joined_first(
    most: int, query: LogicalQuery, changes: list[dict[TableName, Changes]]
) -> None:
    with patch.object(inner_joins, "MOST_TERMS", most):
        plan = derive(query, tables=TABLES)
    follow(plan, query, changes)
