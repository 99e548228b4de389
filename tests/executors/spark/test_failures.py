"""Errors in data come with PostgreSQL's SQLSTATE and words, wherever in a plan of Spark they happen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from pyspark.sql import SparkSession

from catalog.errors import Error
from catalog.postgres.storage import Plain
from catalog.postgres.types import INT2, INT4, INT8, TEXT, SqlType
from dialect.expressions.scalar import Call, Cast, CastMethod, Constant, Notation
from dialect.spark.casts import cast_to
from dialect.spark.numbers.integers import INTEGERS
from dialect.spark.rendered import Rendered
from executors.spark.failures import as_error
from executors.spark.firing import collect
from executors.spark.session import SparkSettings, close_session, open_session
from tests.support.running.servers import Server

X = {
    INT2: Rendered("CAST(x AS SMALLINT)", Plain.INT16),
    INT4: Rendered("x", Plain.INT32),
    INT8: Rendered("CAST(x AS BIGINT)", Plain.INT64),
}

NAMES = {INT2: "smallint", INT4: "integer", INT8: "bigint"}


def rendered(oid: int, *types: int) -> str:
    """An operator over the value, and if it has two operands over a constant as well, for Spark."""
    ones = {type: replace(X[type], sql=X[type].sql.replace("x", "2")) for type in types}
    arguments = [X[types[0]], *(ones[type] for type in types[1:])]
    return INTEGERS[oid](Call(oid, "", Notation.OPERATOR, (), 0, SqlType(types[0])), arguments).sql


OVERFLOWS = {
    "int4 +": ("x + 2::int4", rendered(177, INT4, INT4), 2**31 - 1),
    "int4 -": ("x - 2::int4", rendered(181, INT4, INT4), -(2**31)),
    "int4 *": ("x * 2::int4", rendered(141, INT4, INT4), 2**30),
    "int4 and int2": ("x + 2::int2", rendered(178, INT4, INT2), 2**31 - 1),
    "int2 +": ("x::int2 + 2::int2", rendered(176, INT2, INT2), 2**15 - 1),
    "int2 *": ("x::int2 * 2::int2", rendered(152, INT2, INT2), 2**14),
    "int8 *": ("x::int8 * 4294967296 * 4", "CAST(x AS BIGINT) * 4294967296 * 4", 2**30),
    "- int4": ("-x", rendered(212, INT4), -(2**31)),
    "- int2": ("-(x::int2)", rendered(213, INT2), -(2**15)),
    "abs(int4)": ("abs(x)", rendered(1251, INT4), -(2**31)),
    "to int2": ("x::smallint", "CAST(x AS SMALLINT)", 2**15),
    "to int4": ("(x::bigint + 1)::int", "CAST(CAST(x AS BIGINT) + 1 AS INT)", 2**31 - 1),
    "to int8": ("(x * 1e15::float8)::bigint", "CAST(x * 1e15 AS BIGINT)", 2**20),
    "to numeric": ("x::numeric(4,2)", "CAST(x AS DECIMAL(4,2))", 100),
    "to a fraction": ("x::numeric(2,2)", "CAST(x AS DECIMAL(2,2))", 1),
    "division": ("1 / (x - 5)", "1 div (x - 5)", 5),
    "moments": (
        "timestamp '294246-01-01' + x * interval '1 year'",
        "TIMESTAMP_NTZ'+294246-01-01 00:00:00' + make_ym_interval(x)",
        2000,
    ),
    "remainder": ("1 % (x - 5)", "1 % (x - 5)", 5),
}
"""By name: an expression over an integer for PostgreSQL and for Spark, and a value that it fails for."""

PLANS = {
    "alone": "SELECT {e} AS v FROM numbers",
    "joined": "SELECT n.x FROM numbers AS n JOIN (SELECT x, {e} AS v FROM numbers) AS m ON n.x = m.v",
    "broadcast": "SELECT /*+ BROADCAST(m) */ n.x FROM numbers AS n JOIN (SELECT {e} AS v FROM numbers) AS m "
    "ON n.x = m.v",
    "merged": "SELECT /*+ MERGE(m) */ n.x FROM numbers AS n JOIN (SELECT {e} AS v FROM numbers) AS m "
    "ON n.x = m.v",
    "grouped": "SELECT v, count(*) FROM (SELECT {e} AS v FROM numbers) GROUP BY v",
    "subquery": "SELECT x FROM numbers WHERE x = (SELECT max({e}) FROM numbers)",
    "in": "SELECT x FROM numbers WHERE x NOT IN (SELECT {e} FROM numbers)",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    directory = tmp_path_factory.mktemp("spark")
    session = open_session(SparkSettings(directory / "session", master="local[2]"))
    yield session
    close_session(session)


def raised(session: SparkSession, expression: str, value: int, plan: str = "alone") -> Error:
    session.sql(f"SELECT explode(array({value}, 7)) AS x").createOrReplaceTempView("values_of_numbers")
    session.sql("SELECT x FROM values_of_numbers DISTRIBUTE BY x").createOrReplaceTempView("numbers")
    with pytest.raises(Error) as caught:
        collect(session, PLANS[plan].format(e=expression))
    return caught.value


@pytest.mark.service
@pytest.mark.parametrize("major", [15, 18])
def test_words_are_postgresqls(spark: SparkSession, major: int, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(f"postgres{major}")
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        for name, (written, sql, value) in OVERFLOWS.items():
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(f"SELECT {written} FROM (VALUES ({value}::int)) AS t (x)".encode())
            told = caught.value.diag
            error = raised(spark, sql, value)
            assert (error.sqlstate, error.message, error.detail) == (
                told.sqlstate,
                told.message_primary,
                told.message_detail,
            ), name


@pytest.mark.service
def test_a_text_that_is_no_integer_is_shown(spark: SparkSession, postgres18: Server) -> None:
    with psycopg.connect(postgres18.dsn(), autocommit=True) as connection:
        for oid, storage in ((INT2, Plain.INT16), (INT4, Plain.INT32), (INT8, Plain.INT64)):
            node = Cast(Constant("", SqlType(TEXT)), CastMethod.TEXT, 0, SqlType(oid))
            sql = cast_to(node, Rendered("t", Plain.TEXT), storage).sql
            for text in ("abc", "", "12.5", "7 8", "9" * 30, "-" + "9" * 30):
                with pytest.raises(psycopg.Error) as caught:
                    connection.execute(f"SELECT CAST('{text}'::text AS {NAMES[oid]})".encode())
                told = caught.value.diag
                with pytest.raises(Error) as found:
                    collect(spark, f"SELECT {sql} AS v FROM (SELECT explode(array('{text}', '7')) AS t)")
                assert (found.value.sqlstate, found.value.message) == (told.sqlstate, told.message_primary)


@pytest.mark.service
@pytest.mark.parametrize("plan", PLANS)
def test_the_place_in_a_plan_does_not_matter(spark: SparkSession, plan: str) -> None:
    error = raised(spark, rendered(177, INT4, INT4), 2**31 - 1, plan)
    assert (error.sqlstate, error.message) == ("22003", "integer out of range")
    error = raised(spark, "1 div (x - 7)", 3, plan)
    assert (error.sqlstate, error.message) == ("22012", "division by zero")
    error = raised(spark, "CASE WHEN x = 7 THEN raise_error('22008: date out of range') ELSE x END", 3, plan)
    assert (error.sqlstate, error.message) == ("22008", "date out of range")


class Connected(Exception):
    """Shaped like an error of Spark Connect, which tells of causes apart from its words."""

    def __init__(self, words: str, trace: str) -> None:
        super().__init__(words)
        self.trace = trace

    def getStackTrace(self) -> str:
        return self.trace


def test_of_spark_connect_the_trace_is_read() -> None:
    trace = (
        "org.apache.spark.SparkException\n\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(x:1)\n"
        "Caused by: org.apache.spark.SparkArithmeticException: [ARITHMETIC_OVERFLOW] overflow. "
        "Use 'try_add'. If necessary set x to \"false\" to bypass this error. SQLSTATE: 22003\n\tat y(z:2)"
    )
    error = as_error(Connected("Exception thrown in awaitResult: ", trace))
    assert error is not None
    assert (error.sqlstate, error.message) == ("22003", "bigint out of range")


def test_what_is_no_error_in_data_stays_what_it_is() -> None:
    assert as_error(Connected("[TABLE_OR_VIEW_NOT_FOUND] no", "x")) is None
