"""What stands for equal floats: DuckDB takes 0 and -0 for one value, and PostgreSQL writes both."""

from __future__ import annotations

import duckdb
import pytest

from catalog.postgres.storage import ListOf, Plain
from dialect.duckdb.equality import any_of, extreme, group_key, group_value
from dialect.duckdb.rendered import Rendered

VALUE = Rendered("v", Plain.FLOAT64)


def _asked(targets: str, values: str, tail: str = "") -> list[tuple[str | None, ...]]:
    rows = ", ".join(f"(CAST({value} AS DOUBLE))" for value in values.split(", "))
    shown = ", ".join(f"CAST({target} AS VARCHAR)" for target in targets.split("; "))
    return duckdb.connect().execute(f"SELECT {shown} FROM (VALUES {rows}) AS t(v){tail}").fetchall()


@pytest.mark.parametrize(
    ("values", "least", "greatest"),
    [
        ("'-0'", "-0.0", "-0.0"),
        ("0, '-0'", "0.0", "-0.0"),
        ("'-0', 1, NULL", "-0.0", "1.0"),
        ("-1, 0, 'NaN'", "-1.0", "nan"),
        ("NULL", None, None),
    ],
)
def test_extremes(values: str, least: str | None, greatest: str | None) -> None:
    assert _asked("; ".join(extreme(name, VALUE, "TRUE") for name in ("min", "max")), values) == [
        (least, greatest)
    ]
    assert _asked(extreme("min", VALUE, "v > 5"), values) == [("nan" if "NaN" in values else None,)]


@pytest.mark.parametrize(
    ("values", "shown"),
    [("'-0', '-0'", {"-0.0"}), ("'-0', 0, '-0'", {"0.0"}), ("NULL, '-0', 2, NULL", {None, "-0.0", "2.0"})],
)
def test_what_stands_for_a_group(values: str, shown: set[str | None]) -> None:
    groups = _asked(group_value(VALUE).sql, values, f" GROUP BY {group_key(VALUE)}")
    assert {value for (value,) in groups} == shown
    assert len(groups) == len(shown)


def test_any_of_identical_lists() -> None:
    lists = Rendered("[v]", ListOf(Plain.FLOAT64))
    assert _asked(f"{any_of(lists)}; {any_of(lists, ' FILTER (WHERE v = 0)')}", "'-0', '-0'") == [
        ("[-0.0]", "[-0.0]")
    ]
    assert _asked(any_of(VALUE), "'-0'") == [("-0.0",)]
