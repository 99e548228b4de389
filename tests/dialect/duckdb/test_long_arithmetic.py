"""Arithmetic of numerics of any length in DuckDB: PostgreSQL's numbers, to the digit."""

from __future__ import annotations

import pytest

from catalog.postgres.storage import storage_of
from dialect.duckdb.expressions import render
from executors.duckdb.database import open_database
from tests.support.spark.long_numbers import COLUMNS, operation, pairs_as_table, results


@pytest.mark.parametrize("operator", ["+", "-", "*"])
def test_numbers_of_any_length(operator: str) -> None:
    value = render(operation(operator), COLUMNS, storage_of).sql
    with open_database(2**28) as database:
        database.register("pairs", pairs_as_table())
        rows = database.sql(f"SELECT {value} FROM pairs ORDER BY pair").fetchall()
    assert [result for (result,) in rows] == results(operator)
