"""Functions and casts that are written for DuckDB give what PostgreSQL gives, or leave a value to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import duckdb
import psycopg
import pyarrow as pa
import pytest

from catalog.postgres.comparisons import COMPARISONS
from catalog.postgres.storage import storage_of
from catalog.postgres.types import ANYENUM
from dialect.duckdb.expressions import render
from dialect.duckdb.functions import FUNCTIONS
from dialect.duckdb.rendered import NotWritten, Rendered
from dialect.expressions.scalar import Call
from executors.duckdb.database import open_database
from executors.reference.arrow import as_arrow, from_arrow
from executors.reference.values.values import Value, equality_key
from tests.support.running.servers import Server
from tests.support.spark.cases import Case
from tests.support.spark.oracle import FAR, Asked, Oracle
from tests.support.spark.values import value_of

pytestmark = pytest.mark.service

OF_ENUMS = {COMPARISONS[ANYENUM, ANYENUM][symbol] for symbol in ("=", "<>")}
"""Their values lie as texts, and are compared as such."""

LEAST_COMPUTED = 0.5
"""So much of what PostgreSQL has values for is computed in the process, over all edge values."""


@pytest.fixture(scope="module")
def oracle(postgres18: Server) -> Iterator[Oracle]:
    with psycopg.connect(postgres18.dsn(), autocommit=True) as connection:
        yield Oracle.of(connection)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(2**30) as connection:
        yield connection


def written(asked: Asked) -> Rendered | None:
    columns = {place: Rendered(f"c{place}", storage) for place, storage in enumerate(asked.case.storages)}
    try:
        return render(asked.case.scalar, columns, storage_of)
    except NotWritten:
        return None


def table_of(case: Case) -> pa.Table:
    rows = case.rows()
    columns = {"id": pa.array(range(len(rows)), pa.int64())}
    for place, (type_, storage) in enumerate(zip(case.arguments, case.storages, strict=True)):
        columns[f"c{place}"] = as_arrow([value_of(row[place], type_) for row in rows], storage)
    return pa.table(columns)


def values(database: duckdb.DuckDBPyConnection, case: Case, value: Rendered) -> Mapping[int, Value]:
    """The value of each row that has one; a row whose value is an error is left to Spark."""
    database.register("edges", table_of(case))

    def among(rows: Sequence[int]) -> dict[int, object]:
        numbers = ", ".join(map(str, rows))
        try:
            sql = f"SELECT id, {value.sql} AS v FROM edges WHERE id IN ({numbers})"
            return {row["id"]: row["v"] for row in database.sql(sql).to_arrow_table().to_pylist()}
        except duckdb.Error:
            middle = len(rows) // 2
            return among(rows[:middle]) | among(rows[middle:]) if middle else {}

    return {
        number: from_arrow(found, value.storage) for number, found in among(range(len(case.rows()))).items()
    }


def test_functions_and_casts_give_what_postgresql_gives(
    oracle: Oracle, database: duckdb.DuckDBPyConnection
) -> None:
    wrong: list[str] = []
    had = computed = 0
    tried: set[int] = set()
    for asked in oracle.asked:
        value = written(asked)
        if value is None:
            continue
        if isinstance(asked.case.scalar, Call):
            tried.add(asked.case.scalar.function)
        found = values(database, asked.case, value)
        outcomes = zip(asked.by_postgres, asked.expected_by_postgres, strict=True)
        for number, (told, expected) in enumerate(outcomes):
            had += told.state is None
            if number not in found:
                continue
            computed += told.state is None
            name = f"{asked.case.name} {asked.case.rows()[number]}"
            if told.state is not None:
                if told.state != FAR:
                    wrong.append(f"{name}: PostgreSQL has the error {told.state}, DuckDB {found[number]!r}")
            elif equality_key((found[number],)) != equality_key((expected,)) or str(found[number]) != str(
                expected
            ):
                wrong.append(f"{name}: PostgreSQL {expected!r}, DuckDB {found[number]!r}")
    assert not wrong, "\n".join(wrong)
    assert computed > LEAST_COMPUTED * had
    never = {oid for oid in FUNCTIONS if oid > 0} - tried - OF_ENUMS
    assert not never, f"functions that no case tries: {sorted(never)}"
