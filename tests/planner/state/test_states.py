"""Which states a query keeps: as recorded, within every budget, and for what is expected to come."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from math import inf

import pytest

from catalog.postgres.schema import TableName
from dialect.binding.bind import bind
from planner.delta.weighted import DeltaPlan
from planner.explain.states_text import states_text
from planner.pace.choose import scheduled, simulated
from planner.pace.knobs import knobs_of
from planner.pace.schedule import Arrivals, Goal
from planner.pace.scratch import scratch_run
from planner.pace.simulation import Simulation
from planner.plan import plan
from planner.state.choose import Options, Policy, StateChoice, options
from planner.state.divide import Wish, divided
from planner.state.frontier import Frontier, Point
from planner.state.keepable import with_news
from planner.state.together import Known, recomputing, together
from tests.planner.test_delta_plans import planned, snapshot
from tests.support.planning.cases import FOLDER
from tests.support.planning.states import costs
from tests.support.planning.tpch_statistics import arrivals, statistics
from tests.support.recording import assert_as_recorded

RECORDED = FOLDER / "states"
SHARE = 0.001
FIGURE = """SELECT lineitem.l_linenumber, orders.o_orderdate, customer.c_name
FROM tpch.lineitem, tpch.orders, tpch.customer
WHERE lineitem.l_orderkey = orders.o_orderkey AND orders.o_custkey = customer.c_custkey"""


def period(plan: DeltaPlan, coming: Mapping[TableName, Arrivals], fewest_rows: float = 0.0) -> Simulation:
    return simulated(plan, statistics(), coming, costs(plan, fewest_rows))


def chosen_from(simulation: Simulation, recompute_work: float | None = None) -> Options:
    return options(simulation, (1,) * len(simulation.paths), {}, recompute_work)


@functools.cache
def of_query(name: str) -> tuple[DeltaPlan, Options]:
    delta = planned(name).delta
    return delta, chosen_from(period(delta, arrivals(SHARE, SHARE)))


@functools.cache
def of_figure() -> DeltaPlan:
    known = snapshot()
    columns = {column.name: column for table in known.tables.values() for column in table.columns}
    shown = [columns[name] for name in ("l_linenumber", "o_orderdate", "c_name")]
    query = bind(FIGURE, known.tables, known.signatures, shown)
    return plan(query, known.tables, statistics()).delta


def only(table: str) -> dict[TableName, Arrivals]:
    name = TableName("tpch", table)
    return {name: arrivals(SHARE)[name]}


@pytest.mark.parametrize("table", ["lineitem", "customer", "orders"])
def test_the_figures_example_keeps_what_the_expected_news_look_up(table: str) -> None:
    """Other states for each table that brings news: figure 5.2 of DISS."""
    delta = of_figure()
    choice = chosen_from(period(delta, only(table))).within(inf)
    assert_as_recorded(RECORDED / f"figure-{table}.states", states_text(delta, choice))


@pytest.mark.parametrize("name", ["q03", "q07", "q08", "q09", "q18", "q21"])
def test_choices_are_as_recorded(name: str) -> None:
    delta, every = of_query(name)
    wanted = every.within(inf).wanted
    texts = [states_text(delta, every.within(share * wanted)) for share in (1.0, 0.3, 0.1, 0.0)]
    assert_as_recorded(RECORDED / f"{name}.states", "\n".join(texts))


@pytest.mark.parametrize("name", ["q03", "q13", "q17", "q18"])
def test_no_other_set_of_states_within_the_budget_is_cheaper(name: str) -> None:
    """Played through with each set of states, on one engine, with nothing computed from scratch."""
    delta = planned(name).delta
    simulation = period(delta, arrivals(SHARE, SHARE))
    simulation = replace(simulation, costs=replace(simulation.costs, engines=simulation.costs.engines[:1]))
    every = chosen_from(simulation, inf)
    sets = [set(kept) for size in range(len(every.states) + 1) for kept in combinations(every.states, size)]

    def cost(kept: set[object]) -> float:
        scanned = (one.uses.lookups for one in every.states if one not in kept)
        runs = replace(simulation, scanned=frozenset().union(*scanned)).simulate((1,) * len(simulation.paths))
        return runs.total + sum(every.worth[one.state].upkeep for one in every.states if one in kept)

    wanted = every.within(inf).wanted
    for share in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0):
        choice = every.within(share * wanted)
        kept = {decision.state for decision in choice.decisions if decision.is_kept}
        own = cost({one for one in every.states if one.state in kept})
        least = min(cost(set(one)) for one in sets if sum(state.bytes for state in one) <= share * wanted)
        assert own == pytest.approx(least, rel=1e-4)
        assert choice.cost(share * wanted) == pytest.approx(own, rel=1e-4)


@pytest.mark.parametrize("name", ["q03", "q05", "q07", "q08", "q09", "q18", "q21"])
def test_more_budget_never_costs_more_and_is_never_exceeded(name: str) -> None:
    _, every = of_query(name)
    wanted = every.within(inf).wanted
    choices = [every.within(wanted * share / 16) for share in range(18)]
    works = [choice.cost(choice.budget) for choice in choices]
    assert works == sorted(works, reverse=True)
    assert works[0] > works[-1]
    assert all(choice.bytes <= choice.budget for choice in choices)


def test_without_a_budget_everything_is_scanned() -> None:
    _, every = of_query("q03")
    choice = every.within(0)
    assert choice.bytes == 0
    assert choice.scanned == frozenset(lookup for one in every.states for lookup in one.uses.lookups)


def test_a_complete_table_costs_no_state() -> None:
    """What only a complete table's rows would look up is not kept, whatever the budget."""
    delta = of_figure()
    simulation = period(delta, {})
    customers = frozenset((TableName("tpch", "customer"),))
    others = frozenset((TableName("tpch", "lineitem"), TableName("tpch", "orders")))
    with_all = chosen_from(with_news(simulation, frozenset())).within(inf)
    without = chosen_from(with_news(simulation, customers)).within(inf)
    nothing = chosen_from(with_news(simulation, customers | others)).within(inf)
    assert without.bytes < with_all.bytes
    assert nothing.bytes == 0
    assert {decision.why for decision in nothing.decisions} == {
        "nothing that is expected to come looks it up"
    }


def test_small_contents_are_no_states() -> None:
    delta = of_figure()
    few = chosen_from(period(delta, arrivals(SHARE), fewest_rows=1e6))
    assert {delta.buffers[one.state.buffer].fields[0].name[:2] for one in few.states} == {"l_", "o_"}


def test_measured_bytes_count_instead_of_predicted_ones() -> None:
    delta = of_figure()
    simulation = period(delta, arrivals(SHARE))
    predicted = chosen_from(simulation)
    measured = {one.state: 3 * one.bytes for one in predicted.states}
    budget = predicted.within(inf).wanted
    choice = options(simulation, (1,) * len(simulation.paths), measured).within(budget)
    assert predicted.within(budget).bytes == budget
    assert 0 < choice.bytes <= budget
    assert {decision.bytes for decision in choice.decisions} == set(measured.values())


@pytest.mark.parametrize("name", ["q03", "q07", "q08", "q09"])
def test_no_forced_choice_is_better(name: str) -> None:
    """Compared by what the periods take that are played through with each choice."""
    delta, every = of_query(name)
    simulation = period(delta, arrivals(SHARE, SHARE))
    wanted = sum(one.bytes for one in every.states)

    def cost(choice: StateChoice) -> float:
        runs = replace(simulation, scanned=choice.scanned).simulate((1,) * len(simulation.paths))
        kept = [decision.state for decision in choice.decisions if decision.is_kept]
        return min(runs.total + sum(every.worth[state].upkeep for state in kept), scratch)

    scratch = scratch_run(simulation).work
    for share in (0.0, 0.1, 0.3, 0.6, 1.0):
        best = cost(every.within(share * wanted))
        for policy in Policy:
            assert best <= cost(every.within(share * wanted, policy)) * 1.001, (share, policy)


def test_a_budget_is_divided_by_what_each_byte_saves() -> None:
    steep = Frontier((Point(0, 10.0), Point(10, 5.0), Point(100, 4.0)))
    flat = Frontier((Point(0, 10.0), Point(50, 6.0)))
    wishes = {"steep": Wish(steep, inf), "flat": Wish(flat, inf)}
    assert divided(5, wishes) == {"steep": 0, "flat": 0}
    assert divided(20, wishes) == {"steep": 10, "flat": 0}
    assert divided(60, wishes) == {"steep": 10, "flat": 50}
    assert divided(inf, wishes) == {"steep": 100, "flat": 50}
    assert divided(inf, {**wishes, "flat": Wish(flat, 40)}) == {"steep": 100, "flat": 0}


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_paces_are_chosen_for_the_states_that_the_budget_leaves(share: float) -> None:
    """The schedule is what its paces cost under its states, which are those that pay at these paces."""
    delta = planned("q03").delta
    simulation = period(delta, arrivals(0.1))
    budget = share * chosen_from(simulation).within(inf).wanted
    goal = Goal(0.2, 20, recomputes=False)
    both = together(
        simulation,
        Known(frozenset(), {}),
        lambda _: budget,
        lambda under: scheduled(under, goal, knobs_of(goal.paces, under)),
        goal,
        None,
    )
    paces = tuple(path.pace for path in both.schedule.paths)
    assert both.simulation.scanned == both.states.scanned
    assert both.simulation.simulate(paces).final == pytest.approx(both.schedule.final_work)
    assert both.states.bytes <= budget
    assert options(simulation, paces, {}, inf).within(budget).scanned == both.states.scanned


def test_what_computing_from_scratch_was_seen_to_take_decides() -> None:
    """Where that takes next to nothing, nothing is kept; where no run may do it, states are."""
    _, every = of_query("q08")
    delta = planned("q08").delta
    simulation = period(delta, arrivals(SHARE, SHARE))
    wanted = every.within(inf).wanted
    assert chosen_from(simulation, 1e-3).within(inf).bytes == 0
    assert every.within(0.1 * wanted).bytes == 0
    assert 0 < chosen_from(simulation, inf).within(0.1 * wanted).bytes <= 0.1 * wanted


def test_states_are_given_up_for_recomputing_only_where_it_is_known_what_comes() -> None:
    """And where nothing has to be done early: what is left for the trigger is then worked by states."""
    delta = planned("q08").delta
    once, early, linear = Goal(1.0, 20), Goal(0.1, 20), Goal(1.0, 20, recomputes=False)
    known, unknown = period(delta, arrivals(SHARE)), period(delta, {})
    assert recomputing(known, once, 0.5) == 0.5
    assert recomputing(known, once, None) is None
    assert recomputing(known, early, 0.5) == inf
    assert recomputing(known, linear, 0.5) == inf
    assert recomputing(unknown, once, 0.5) == inf
