"""Every function and cast of the tables: PostgreSQL says what it gives, Spark has to give the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from catalog.postgres.storage import Plain
from catalog.postgres.types import BOOL, INTERVAL
from dialect.expressions.postgres import write
from dialect.expressions.scalar import Reference
from dialect.spark.expressions import render
from executors.reference.arrow import as_arrow, from_arrow
from executors.reference.values.values import Value, equality_key
from executors.spark.failures import as_error
from executors.spark.session import SparkSettings, close_session, open_session
from tests.support.running.servers import Server
from tests.support.spark.cases import Case, typed
from tests.support.spark.long_numbers import COLUMNS, operation, pairs_as_table, results
from tests.support.spark.oracle import FAR, Asked, Oracle
from tests.support.spark.values import EDGES, value_of

pytestmark = pytest.mark.service

AT_ONCE = 8
ERRORS_TRIED = 1


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

    def values(self, asked: Sequence[Asked]) -> list[list[Value]]:
        """What Spark gives for each row of cases over the same arguments, NULL where there is an error."""
        rendered = [question.case.rendered for question in asked]
        columns = ", ".join(f"{question.guarded} AS v{place}" for place, question in enumerate(asked))
        table = self.ask(f"SELECT id, {columns} FROM {self.view(asked[0].case)} ORDER BY id")
        return [
            [from_arrow(value, one.storage) for value in table[f"v{place}"].to_pylist()]
            for place, one in enumerate(rendered)
        ]

    @cache  # noqa: B019
    def ask(self, sql: str) -> pa.Table:
        """The rows of a statement; the same one, as both servers have it asked, is run once."""
        return self.session.sql(sql).toArrow()


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    directory = tmp_path_factory.mktemp("spark")
    session = open_session(SparkSettings(directory / "session", master="local[2]"))
    yield Spark(session, directory)
    close_session(session)


@pytest.fixture(scope="module", params=[15, 18])
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    server = request.getfixturevalue(f"postgres{request.param}")
    assert isinstance(server, Server)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield Oracle.of(connection)


def in_batches(asked: Sequence[Asked]) -> Iterator[list[Asked]]:
    """Cases over the same arguments together: a query costs more than what it computes."""
    by_arguments = sorted(asked, key=lambda question: repr(question.case.arguments))
    for _, group in groupby(by_arguments, key=lambda question: question.case.arguments):
        waiting = list(group)
        yield from (waiting[start : start + AT_ONCE] for start in range(0, len(waiting), AT_ONCE))


@pytest.mark.parametrize("operator", ["+", "-", "*"])
def test_numbers_of_any_length(spark: Spark, operator: str) -> None:
    file = spark.directory / "pairs.parquet"
    pq.write_table(pairs_as_table(), file)
    value = render(operation(operator), COLUMNS).sql
    pairs = spark.session.read.parquet(str(file)).repartition(1)
    rows = pairs.selectExpr("pair", f"{value} AS result").orderBy("pair").toArrow()
    assert rows.column("result").to_pylist() == results(operator)


def test_functions_and_casts_give_what_postgresql_gives(spark: Spark, oracle: Oracle) -> None:
    wrong: list[str] = []
    for batch in in_batches(oracle.asked):
        for question, found in zip(batch, spark.values(batch), strict=True):
            for row, value, expected in zip(question.case.rows(), found, question.expected, strict=True):
                if equality_key((value,)) != equality_key((expected,)) or str(value) != str(expected):
                    wrong.append(f"{question.case.name} {row}: PostgreSQL {expected!r}, Spark {value!r}")
    assert not wrong, "\n".join(wrong)


def test_errors_are_errors(spark: Spark, oracle: Oracle) -> None:
    wrong: list[str] = []
    for question in oracle.asked:
        tried: Counter[str | None] = Counter()
        for number in question.failing:
            state = question.told[number].state
            if state == FAR:
                continue
            tried[state] += 1
            if tried[state] <= ERRORS_TRIED:
                found = _state(spark, question.case, number)
                if found != state:
                    wrong.append(
                        f"{question.case.name} {question.case.rows()[number]}: {state}, Spark {found}"
                    )
    assert not wrong, "\n".join(wrong)


def _state(spark: Spark, case: Case, number: int) -> str:
    """The state of the error that Spark has for a row."""
    try:
        table = spark.ask(f"SELECT {case.rendered.sql} AS v FROM {spark.view(case)} WHERE id = {number}")
    except PySparkException as error:
        return getattr(as_error(error), "sqlstate", str(error))
    return str(table.to_pylist())


def test_they_group_and_count_alike(spark: Spark, oracle: Oracle) -> None:
    wrong: list[str] = []
    usable = [question for question in oracle.asked if question.case.rendered.storage is not Plain.INTERVAL]
    for batch in in_batches(usable):
        counts = ", ".join(
            f"count(DISTINCT {value}) AS groups{number}, count({value}) AS values{number}"
            for number, value in enumerate(question.guarded_key for question in batch)
        )
        (found,) = spark.ask(f"SELECT {counts} FROM {spark.view(batch[0].case)}").to_pylist()
        for number, question in enumerate(batch):
            values = [equality_key((value,)) for value in question.expected if value is not None]
            if (found[f"groups{number}"], found[f"values{number}"]) != (len(set(values)), len(values)):
                wrong.append(f"{question.case.name}: {found} for {len(set(values))}, {len(values)}")
    assert not wrong, "\n".join(wrong)


def test_they_filter_alike(spark: Spark, oracle: Oracle) -> None:
    """Where Spark may turn them into something else, for files that it need not read."""
    wrong: list[str] = []
    for batch in in_batches([question for question in oracle.asked if question.case.scalar.type.oid == BOOL]):
        view = spark.view(batch[0].case)
        filters = (
            f"SELECT {number} AS n, count(*) AS count FROM {view} "
            f"WHERE {question.defined} AND {question.case.rendered.sql}"
            for number, question in enumerate(batch)
        )
        for row in spark.ask(" UNION ALL ".join(filters)).to_pylist():
            question = batch[row["n"]]
            if row["count"] != question.expected.count(True):
                wrong.append(f"{question.case.name}: {row['count']} for {question.expected.count(True)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("oid", sorted(set(EDGES) - {INTERVAL}))
def test_values_of_every_type_join_by_equality(spark: Spark, oid: int) -> None:
    type_ = typed(oid)
    case = Case("column", "{0}", Reference(0, type_), (type_,))
    view = spark.view(case)
    (found,) = spark.ask(f"SELECT count(*) AS n FROM {view} AS a JOIN {view} AS b ON a.c0 = b.c0").to_pylist()
    read = (value_of(text, type_) for (text,) in case.rows())
    values = Counter(equality_key((value,)) for value in read if value is not None)
    assert found["n"] == sum(count**2 for count in values.values())


def test_postgresql_reads_what_is_written_for_it(oracle: Oracle) -> None:
    for question in oracle.asked:
        columns = {place: f"{{{place}}}" for place in range(len(question.case.arguments))}
        if not any(character in question.case.name for character in "{}"):
            assert oracle.told(question.case, write(question.case.scalar, columns)) == list(
                question.by_postgres
            ), question.case.name
