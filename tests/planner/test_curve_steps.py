from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.explain.curve_steps import telling_steps


def test_steps_that_leave_hardly_less_are_not_shown() -> None:
    assert telling_steps([1.0, 0.999, 0.992, 0.6, 0.6, 0.595, 0.1, 0.0995]) == [0, 3, 6]


def test_small_shares_are_told_apart() -> None:
    assert telling_steps([0.05, 0.012, 0.0115, 0.004, 0.0039]) == [0, 1, 3]


def test_nothing_to_show() -> None:
    assert telling_steps([]) == []
    assert telling_steps([0.0, 0.0]) in ([0], [0, 1])


@given(st.lists(st.floats(0.001, 10)))
def test_what_is_not_shown_is_close_to_what_is(works: list[float]) -> None:
    works.sort(reverse=True)
    shown = telling_steps(works)
    assert shown == sorted(set(shown))
    for place, work in enumerate(works):
        before = max(number for number in shown if number <= place)
        assert works[before] - work < 0.01 or before == place
