"""Paces and methods that are forced: what has a pace of its own, and which method each part takes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.errors import InvalidParameterValue
from catalog.postgres.schema import TableName
from dialect.statements.options import METHODS, PACES
from planner.algebra.logical import LogicalQuery
from planner.algebra.statistics import Statistics, TableStatistics
from planner.delta.derive import derive
from planner.delta.methods import Method, methods_of
from planner.delta.weighted import DeltaPlan
from planner.explain.schedule_text import curve_text, named, schedule_text
from planner.pace.schedule import Arrivals, Goal, Paces, Schedule, goal_of
from planner.plan import plan
from tests.planner.test_delta_plans import snapshot
from tests.support.binding.cases import recorded
from tests.support.planning.cases import QUERIES, bound
from tests.support.planning.random_plans import TABLES, queries
from tests.support.planning.schedules import schedule
from tests.support.planning.tpch_statistics import FAST, arrivals, statistics


def test_the_dialect_and_the_planner_name_them_alike() -> None:
    assert set(METHODS) == {"auto", *(method.value for method in Method)}
    assert set(PACES) == {pace.value for pace in Paces}
    assert Paces(str(PACES[0])) is goal_of({}).paces is Paces.AUTO
    assert goal_of({"PACES": "leaf"}).paces is Paces.LEAF


@pytest.mark.parametrize("options", [{"PACES": "all"}, {"MAX_PACE": "abc"}, {"LATENCY_GOAL": "soon"}])
def test_options_that_somebody_wrote_into_the_catalog(options: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterValue):
        goal_of(options)


@pytest.mark.parametrize(
    ("method", "order"),
    [
        ("auto", (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE)),
        ("linear", (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE)),
        ("combine", (Method.COMBINE, Method.LINEAR, Method.RECOMPUTE)),
        ("recompute", (Method.RECOMPUTE, Method.LINEAR, Method.COMBINE)),
    ],
)
def test_a_forced_method_is_tried_first(method: str, order: tuple[Method, ...]) -> None:
    assert methods_of({"METHOD": method}) == order


@pytest.mark.parametrize(
    ("name", "method", "parts"),
    [
        ("q15", "auto", ["aggregate 2: linear", "aggregate 3: combine", "result 4: linear"]),
        ("q15", "linear", ["aggregate 2: linear", "aggregate 3: combine", "result 4: linear"]),
        ("q15", "combine", ["aggregate 2: combine", "aggregate 3: combine", "result 4: linear"]),
        ("q15", "recompute", ["aggregate 2: recompute", "aggregate 3: recompute", "result 4: linear"]),
        (
            "q13",
            "combine",
            ["left join 2: recompute", "aggregate 3: combine", "aggregate 4: combine", "result 5: linear"],
        ),
    ],
)
def test_parts_take_the_forced_method_where_they_can(name: str, method: str, parts: list[str]) -> None:
    delta = tpch(name, method)
    assert [f"{named(delta, subplan.writes)}: {subplan.method}" for subplan in delta.subplans] == parts


@settings(max_examples=50, deadline=None)
@given(query=queries(), coming=st.sampled_from((0.0, 1e3, 1e6)), share=st.sampled_from((0.5, 0.01)))
def test_a_uniform_pace_is_that_of_all_paths(query: LogicalQuery, coming: float, share: float) -> None:
    found = random(query, coming, Goal(share, 20, paces=Paces.UNIFORM))
    assert len({path.pace for path in found.paths}) <= 1


@settings(max_examples=50, deadline=None)
@given(query=queries(), coming=st.sampled_from((0.0, 1e3, 1e6)), share=st.sampled_from((0.5, 0.01)))
def test_what_is_above_the_tables_follows_the_fastest(
    query: LogicalQuery, coming: float, share: float
) -> None:
    found = random(query, coming, Goal(share, 20, paces=Paces.LEAF))
    for above in found.paths:
        below = [path.pace for path in found.paths if path.path.writes == above.path.reads]
        assert not below or above.pace == max(below)


@pytest.mark.parametrize(("paces", "different"), [(Paces.AUTO, 3), (Paces.LEAF, 2), (Paces.UNIFORM, 1)])
def test_what_is_forced_leaves_less_to_choose(paces: Paces, different: int) -> None:
    """The free choice works the revenues often, the greatest less often, the suppliers once."""
    found = chosen(tpch("q15", "auto"), paces)
    assert len({path.pace for path in found.paths}) == different
    assert found.final_work <= 0.3 * found.batch_work


def test_forced_paces_are_explained() -> None:
    delta = tpch("q15", "auto")
    uniform, leaf = chosen(delta, Paces.UNIFORM), chosen(delta, Paces.LEAF)
    assert "Paces: forced to one for the whole query\n" in schedule_text(delta, uniform)
    assert "aggregate 3 at pace 8: forced to the pace of others\n" in schedule_text(delta, uniform)
    assert curve_text(delta, uniform).splitlines()[1].endswith(": pace 2 of all")
    assert "Paces: forced to one for each path from a table\n" in schedule_text(delta, leaf)
    raised = "aggregate 2 to aggregate 3, aggregate 2 to result 4, aggregate 3 to result 4"
    last = curve_text(delta, leaf).splitlines()[-1]
    assert last.endswith(f": pace 8 of tpch.lineitem to aggregate 2, {raised} (used)")
    assert "forced" not in schedule_text(delta, chosen(delta, Paces.AUTO))


def tpch(name: str, method: str) -> DeltaPlan:
    known = snapshot()
    [case] = recorded(QUERIES / f"{name}.bound")
    methods = methods_of({"METHOD": method})
    return plan(bound(case, known), known.tables, statistics(), methods=methods).delta


def chosen(delta: DeltaPlan, paces: Paces) -> Schedule:
    return schedule(delta, statistics(0.5), arrivals(0.5), FAST, Goal(0.3, 100, paces=paces))


def random(query: LogicalQuery, coming: float, goal: Goal) -> Schedule:
    known = Statistics(dict.fromkeys(TABLES, TableStatistics(1e5)))
    expected: dict[TableName, Arrivals] = dict.fromkeys(TABLES, Arrivals(coming))
    return schedule(derive(query, tables=TABLES), known, expected, FAST, goal)
