"""Sums of floats that differ in their last digits are the same; nothing else is."""

from __future__ import annotations

from math import inf, nan

import pytest

from coordinator.verify.nearly import Unlike, without_near

DOUBLE = (1e-9,)


def unlike(side: str, *sums: float | str | None, rest: str = "(1)", rows: int = 1) -> Unlike:
    texts = tuple(None if total is None else str(total) for total in sums)
    return Unlike(side, f"{rest} {sums}", rows, rest, texts)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((0.1 + 0.2 + 0.3,), (0.3 + 0.2 + 0.1,)), ((nan,), (nan,)), ((None,), (None,)), ((inf,), (inf,))],
)
def test_the_last_digits_are_no_difference(ours: tuple[float | None], theirs: tuple[float | None]) -> None:
    assert without_near([unlike("superfluous", *ours), unlike("missing", *theirs)], DOUBLE) == []


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((1.0,), (1.000001,)), ((nan,), (1.0,)), ((None,), (0.0,)), ((inf,), (-inf,)), ((0.0,), (1e-300,))],
)
def test_any_other_value_is_one(ours: tuple[float | None], theirs: tuple[float | None]) -> None:
    rows = [unlike("superfluous", *ours), unlike("missing", *theirs)]
    assert sorted(row.side for row in without_near(rows, DOUBLE)) == ["missing", "superfluous"]


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("{0.1,0.30000000000000004}", "{0.1,0.3}", True),
        ("{0.1,0.3}", "{0.1,0.31}", False),
        ("{0.1}", "{0.1,0.1}", False),
        ("sum: 1e+20!", "sum: 1.0000000000000001e+20!", True),
        ("sum: 1!", "sums: 1!", False),
        ("true", "false", False),
        ("-NaN", "NaN", False),
    ],
)
def test_numbers_in_texts_and_arrays(ours: str, theirs: str, same: bool) -> None:
    rows = [unlike("superfluous", ours), unlike("missing", theirs)]
    assert (without_near(rows, DOUBLE) == []) is same


def test_rows_that_differ_elsewhere_are_no_partners() -> None:
    rows = [unlike("superfluous", 1.0, rest="(1)"), unlike("missing", 1.0, rest="(2)")]
    assert len(without_near(rows, DOUBLE)) == 2


def test_a_row_is_a_partner_as_often_as_it_is_there() -> None:
    rows = [unlike("superfluous", 1.0, rows=3), unlike("missing", 1.0 + 1e-12, rows=2)]
    assert [(row.side, row.rows) for row in without_near(rows, DOUBLE)] == [("superfluous", 1)]
    twice = [
        unlike("missing", 1.0 - 1e-12),
        unlike("missing", 1.0 + 1e-12),
        unlike("superfluous", 1.0, rows=2),
    ]
    assert without_near(twice, DOUBLE) == []


def test_without_sums_all_differences_stay() -> None:
    rows = [unlike("superfluous"), unlike("missing", rest="(2)")]
    assert without_near(rows, ()) == rows
