"""Changed rows of a result before they are written: those of several runs are added up."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from coordinator.publish import changes
from coordinator.publish.changes import Changes
from sources.warehouse.warehouse import WEIGHT


def table(names: list[str | None], prices: list[float | None], weights: list[int]) -> pa.Table:
    return pa.table(
        {
            "name": pa.array(names, pa.string()),
            "price": pa.array(prices, pa.float64()),
            WEIGHT: pa.array(weights, pa.int64()),
        }
    )


def of(*tables: pa.Table) -> Changes:
    return Changes(sum(map(len, tables)), False, lambda: iter(tables))


def rows_of(given: Changes) -> list[tuple[object, ...]]:
    rows = pa.concat_tables(list(given.slices()))
    return sorted(zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True), key=str)


def test_what_one_run_gave_and_another_took_back_is_gone() -> None:
    first = table(["a", "b", None], [1.0, 2.0, None], [1, -1, 2])
    second = table(["a", "a", None], [1.0, 3.0, None], [-1, 1, -1])
    summed = of(first, second).summed()
    assert rows_of(summed) == sorted([("b", 2.0, -1), ("a", 3.0, 1), (None, None, 1)], key=str)
    assert summed.rows == 3
    assert not summed.only_added
    assert of(first, table(["b"], [2.0], [1]), table(["a"], [4.0], [1])).summed().only_added


def test_values_that_are_written_differently_are_different() -> None:
    """0 and -0 are equal in SQL, and are two texts; a NaN is like every other one."""
    summed = of(table(["z", "z", "n", "n"], [0.0, -0.0, math.nan, math.nan], [1, -1, 1, -1])).summed()
    assert sorted(map(str, rows_of(summed))) == ["('z', -0.0, -1)", "('z', 0.0, 1)"]


def test_what_is_not_compared_or_does_not_fit_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = pa.table({"l": pa.array([[1], [1]]), WEIGHT: pa.array([1, -1], pa.int64())})
    assert of(lists).summed().rows == 2
    given = of(table(["a"], [1.0], [1]), table(["a"], [1.0], [-1]))
    assert given.summed().rows == 0
    monkeypatch.setattr(changes, "MOST_SUMMED_BYTES", 10)
    assert given.summed() is given
