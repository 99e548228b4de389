"""Sums of floats that differ in their last digits are the same; nothing else is."""

from __future__ import annotations

from math import inf, nan

import pytest

from coordinator.verify.nearly import Sums, Unlike, without_near

DOUBLE = (1e-9,)


def unlike(side: str, *sums: float | None, rest: str = "(1)", rows: int = 1) -> Unlike:
    return Unlike(side, f"{rest} {sums}", rows, rest, sums)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((0.1 + 0.2 + 0.3,), (0.3 + 0.2 + 0.1,)), ((nan,), (nan,)), ((None,), (None,)), ((inf,), (inf,))],
)
def test_the_last_digits_are_no_difference(ours: Sums, theirs: Sums) -> None:
    assert without_near([unlike("superfluous", *ours), unlike("missing", *theirs)], DOUBLE) == []


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((1.0,), (1.000001,)), ((nan,), (1.0,)), ((None,), (0.0,)), ((inf,), (-inf,)), ((0.0,), (1e-300,))],
)
def test_any_other_value_is_one(ours: Sums, theirs: Sums) -> None:
    rows = [unlike("superfluous", *ours), unlike("missing", *theirs)]
    assert sorted(each.side for each in without_near(rows, DOUBLE)) == ["missing", "superfluous"]


def test_rows_that_differ_elsewhere_are_no_partners() -> None:
    rows = [unlike("superfluous", 1.0, rest="(1)"), unlike("missing", 1.0, rest="(2)")]
    assert len(without_near(rows, DOUBLE)) == 2


def test_a_row_is_a_partner_as_often_as_it_is_there() -> None:
    rows = [unlike("superfluous", 1.0, rows=3), unlike("missing", 1.0 + 1e-12, rows=2)]
    assert [(each.side, each.rows) for each in without_near(rows, DOUBLE)] == [("superfluous", 1)]
    twice = [
        unlike("missing", 1.0 - 1e-12),
        unlike("missing", 1.0 + 1e-12),
        unlike("superfluous", 1.0, rows=2),
    ]
    assert without_near(twice, DOUBLE) == []


def test_without_sums_all_differences_stay() -> None:
    rows = [unlike("superfluous"), unlike("missing", rest="(2)")]
    assert without_near(rows, ()) == rows
