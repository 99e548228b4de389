"""The dynamic program finds what trying everything finds, for every budget."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, product
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.firing.states import State
from planner.state.frontier import MOST_POINTS
from planner.state.operator import Action, Emission, Operator, Output
from planner.state.select import best

OUTPUTS = st.sampled_from(Output)


@st.composite
def operators(draw: st.DrawFn, depth: int = 3) -> Operator:
    """A tree in which each operator can emit both outputs in at least one way, perhaps by keeping a state."""
    numbers = count()

    def operator(depth: int) -> Operator:
        inputs = tuple(operator(depth - 1) for _ in range(draw(st.integers(0, 2 if depth else 0))))

        def emission() -> Emission:
            needs = tuple(draw(st.none() | OUTPUTS) for _ in inputs)
            return Emission(float(draw(st.integers(0, 20))), needs)

        def action() -> Action:
            emits = {output: emission() for output in Output if draw(st.booleans())}
            return Action(draw(st.integers(0, 12)), emits, frozenset((State(next(numbers), ()),)))

        always = Action(0, {output: emission() for output in Output})
        more = tuple(action() for _ in range(draw(st.integers(0, 2))))
        return Operator(f"operator {next(numbers)}", (always, *more), inputs)

    return operator(depth)


def ways(operator: Operator, output: Output) -> Iterator[tuple[int, float, frozenset[State]]]:
    """Every way to emit the output: its bytes, its cost, and what it keeps."""
    for action in operator.actions:
        emission = action.emits.get(output)
        if emission is None:
            continue
        wanted = [
            (input, need)
            for input, need in zip(operator.inputs, emission.needs, strict=True)
            if need is not None
        ]
        for below in product(*(tuple(ways(input, need)) for input, need in wanted)):
            keeps = action.keeps.union(*(way[2] for way in below))
            size = action.bytes + sum(way[0] for way in below)
            yield size, emission.cost + sum(way[1] for way in below), keeps


@settings(max_examples=200, deadline=None)
@given(operator=operators(2), output=OUTPUTS)
def test_it_is_as_good_as_trying_everything_for_all_budgets(operator: Operator, output: Output) -> None:
    frontier, every = best(operator, output), tuple(ways(operator, output))
    for budget in range(max(way[0] for way in every) + 2):
        point = frontier.at(budget)
        assert point is not None
        assert point.cost == min(way[1] for way in every if way[0] <= budget)
        assert point.bytes <= budget
        assert (point.bytes, point.cost, point.keeps) in every


@settings(max_examples=100, deadline=None)
@given(operator=operators(3), output=OUTPUTS)
def test_a_larger_budget_costs_no_more(operator: Operator, output: Output) -> None:
    points = best(operator, output).points
    assert [point.bytes for point in points] == sorted({point.bytes for point in points})
    costs = [point.cost for point in points]
    assert costs == sorted(set(costs), reverse=True)


def content(number: int, size: int, saves: float) -> Operator:
    keep = Action(size, {Output.CHANGE: Emission(0.0)}, frozenset((State(number, ()),)))
    return Operator(f"content {number}", (keep, Action(0, {Output.CHANGE: Emission(saves)})))


def test_nothing_fits_below_zero_and_what_is_missing_is_not_applicable() -> None:
    only = Operator("only", (Action(5, {Output.CHANGE: Emission(1.0)}),))
    assert best(only, Output.CHANGE).at(4) is None
    assert best(only, Output.CHANGE).at(5) is not None
    assert best(only, Output.EVERYTHING).at(inf) is None


def test_sizes_in_bytes_are_no_more_choices_than_fit() -> None:
    """Thirty states of a few gigabytes each, no two sums of which are the same."""
    contents = tuple(content(number, 3**20 + 7**number, 1.0 + number / 64) for number in range(30))
    every = Emission(0.0, (Output.CHANGE,) * 30)
    root = Operator("result", (Action(0, {Output.CHANGE: every}),), contents)
    frontier = best(root, Output.CHANGE)
    assert len(frontier.points) <= MOST_POINTS
    assert frontier.points[0].cost == sum(1.0 + number / 64 for number in range(30))
    assert frontier.points[-1].cost == 0.0
    for point in frontier.points:
        assert point.bytes == sum(3**20 + 7**state.buffer for state in point.keeps)
