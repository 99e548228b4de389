"""What came of expectations is a factor for the next one: bounded, and moved by nothing that is alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cost.alike import Comparison, factor

AMOUNTS = st.floats(1e-9, 1e9)
PAST = st.lists(st.builds(Comparison, AMOUNTS, AMOUNTS, st.integers(0, 20)), max_size=9)


def test_without_any_outcome_nothing_is_changed() -> None:
    assert factor([], 1.0) == factor([Comparison(0.0, 5.0), Comparison(5.0, 0.0)], 1.0) == 1.0
    assert factor([Comparison(1.0, 5.0)], 0.0) == 1.0


def test_what_is_nearer_and_later_counts_more() -> None:
    """One outcome of its own size is believed to the power of 1 / 1.3, of half the size 0.25 / 0.55."""
    assert factor([Comparison(1.0, 4.0)], 1.0) == pytest.approx(4.0 ** (1 / 1.3))
    assert factor([Comparison(1.0, 4.0)], 2.0) == pytest.approx(4.0 ** (0.25 / 0.55))
    assert factor([Comparison(1.0, 4.0, age=8)], 1.0) == pytest.approx(4.0 ** (0.5 / 0.8))
    sizes = [Comparison(1.0, 4.0), Comparison(1.0, 4.0), Comparison(1000.0, 500.0), Comparison(1000.0, 500.0)]
    assert factor(sizes, 1.0) > 3.0
    assert factor(sizes, 1000.0) < 0.6


def test_of_two_the_smaller_one_is_believed() -> None:
    assert factor([Comparison(1.0, 50.0), Comparison(1.0, 1.0, age=1)], 1.0) == pytest.approx(1.0)


@given(past=PAST, expected=AMOUNTS)
def test_it_is_bounded_and_no_further_than_what_came(past: list[Comparison], expected: float) -> None:
    ratios = [one.actual / one.expected for one in past]
    found = factor(past, expected)
    assert 0.1 <= found <= 10.0
    assert min([1.0, *ratios]) * (1 - 1e-9) <= found <= max([1.0, *ratios]) * (1 + 1e-9)
