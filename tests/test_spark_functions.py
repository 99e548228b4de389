"""Every function and cast of the tables: PostgreSQL says what it gives, Spark has to give the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dialect.spark_casts import CASTS
from dialect.spark_functions import FUNCTIONS
from executors.reference_values import Value, equality_key
from executors.spark.failures import as_error
from executors.spark.session import SparkSettings, close_session, open_session
from tests.servers import Server
from tests.sparkcases import Case, cast_cases, function_cases, literal
from tests.sparkvalues import as_arrow, from_arrow, value_of

pytestmark = pytest.mark.service

# Each is PL/pgSQL's own transaction, so that an error is a value.
ATTEMPT = """
    CREATE FUNCTION pg_temp.attempt(expression text) RETURNS text[] LANGUAGE plpgsql AS $$
    DECLARE found text;
    BEGIN
        EXECUTE 'SELECT (' || expression || ')::text' INTO found;
        RETURN ARRAY[NULL, found];
    EXCEPTION WHEN OTHERS THEN
        RETURN ARRAY[SQLSTATE, NULL];
    END $$
"""
SIGNATURES = """
    SELECT oid::int8, proname::text, ARRAY(SELECT unnest(proargtypes)::int8), prorettype::int8
    FROM pg_catalog.pg_proc WHERE oid = ANY (%s::oid[]) ORDER BY oid
"""
OUTSIDE = re.compile(r"\d{5,}-\d\d-.*|\d+-\d\d-.* BC")
LEAST_QUOTIENT = Decimal("1e-8")
ERRORS_TRIED = 2


@dataclass(frozen=True)
class Told:
    """What PostgreSQL says of a row: a value, or an error's state."""

    state: str | None
    text: str | None


def _told(case: Case, state: str | None, text: str | None) -> Told:
    """What no batch can hold has to be an error: a distant date, a quotient of too many digits."""
    if text is not None and OUTSIDE.fullmatch(text):
        return Told("22008", None)
    if text is not None and case.is_division and 0 < abs(Decimal(text)) < LEAST_QUOTIENT:
        return Told("22003", None)
    return Told(state, text)


@dataclass(frozen=True, eq=False)
class Spark:
    """A session, and the edge values as files."""

    session: SparkSession
    directory: Path

    @cache  # noqa: B019
    def view(self, case: Case) -> str:
        """The rows of the case's arguments, numbered."""
        name = f"edges_{abs(hash(case.arguments))}"
        rows = case.rows()
        columns = {"id": pa.array(range(len(rows)), pa.int64())}
        for place, (type_, storage) in enumerate(zip(case.arguments, case.storages, strict=True)):
            values = [value_of(row[place], type_) for row in rows]
            columns[f"c{place}"] = as_arrow(values, storage)
        file = self.directory / f"{name}.parquet"
        pq.write_table(pa.table(columns), file, store_schema=False)
        self.session.read.parquet(str(file)).createOrReplaceTempView(name)
        return name

    def values(self, case: Case, without: Sequence[int]) -> list[Value]:
        """What Spark gives for each row, NULL for those left out."""
        rendered = case.rendered
        table = self.ask(f"SELECT id, {rendered.sql} AS v FROM {self.view(case)} WHERE {_but(without)}")
        found: dict[int, Any] = {
            row["id"]: from_arrow(row["v"], rendered.storage) for row in table.to_pylist()
        }
        return [found.get(number) for number in range(len(case.rows()))]

    def ask(self, sql: str) -> pa.Table:
        return self.session.sql(sql).toArrow()


def _but(rows: Sequence[int]) -> str:
    return f"id NOT IN ({', '.join(map(str, rows))})" if rows else "TRUE"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    directory = tmp_path_factory.mktemp("spark")
    session = open_session(SparkSettings(directory / "session", master="local[2]"))
    yield Spark(session, directory)
    close_session(session)


@dataclass
class Oracle:
    """PostgreSQL, which says what each expression gives."""

    connection: psycopg.Connection

    def cases(self) -> list[Case]:
        oids = sorted({*FUNCTIONS, *CASTS})
        signatures = self.connection.execute(SIGNATURES, (oids,)).fetchall()
        assert [each[0] for each in signatures] == oids
        return [*function_cases(signatures), *cast_cases()]

    def told(self, case: Case) -> list[Told]:
        expressions = [case.written.format(*map(literal, row, case.arguments)) for row in case.rows()]
        rows = self.connection.execute(
            "SELECT pg_temp.attempt(e) FROM unnest(%s::text[]) WITH ORDINALITY AS t(e, n) ORDER BY n",
            (expressions,),
        )
        return [_told(case, *each[0]) for each in rows]


@pytest.fixture(scope="module", params=[15, 18])
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    server = request.getfixturevalue(f"postgres{request.param}")
    assert isinstance(server, Server)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET DateStyle = 'ISO, YMD'")
        connection.execute("SET standard_conforming_strings = on")
        connection.execute(ATTEMPT)
        yield Oracle(connection)


def test_functions_and_casts_give_what_postgresql_gives(spark: Spark, oracle: Oracle) -> None:
    wrong: list[str] = []
    for case in oracle.cases():
        told = oracle.told(case)
        failing = [number for number, each in enumerate(told) if each.state is not None]
        try:
            found = spark.values(case, failing)
        except PySparkException as error:
            wrong.append(f"{case.name}: {str(error)[:300]}\n    {case.rendered.sql[:200]}")
            continue
        for row, each, value in zip(case.rows(), told, found, strict=True):
            expected = None if each.state else value_of(each.text, case.scalar.type)
            if equality_key((value,)) != equality_key((expected,)) and each.state is None:
                wrong.append(f"{case.name} {row}: PostgreSQL {expected!r}, Spark {value!r}")
        wrong += _errors(spark, case, told, failing)
    assert not wrong, "\n".join(wrong)


def _errors(spark: Spark, case: Case, told: Sequence[Told], failing: Sequence[int]) -> Iterator[str]:
    """Rows where PostgreSQL has an error and Spark none, or another; some of each kind are tried."""
    tried: Counter[str | None] = Counter()
    for number in failing:
        tried[told[number].state] += 1
        if tried[told[number].state] > ERRORS_TRIED:
            continue
        row = f"{case.name} {case.rows()[number]}: PostgreSQL {told[number].state}"
        try:
            table = spark.ask(f"SELECT {case.rendered.sql} AS v FROM {spark.view(case)} WHERE id = {number}")
        except PySparkException as error:
            state = getattr(as_error(error), "sqlstate", None)
            if state != told[number].state:
                yield f"{row}, Spark {state}: {str(error)[:150]}"
        else:
            yield f"{row}, Spark {table.to_pylist()[0]}"
