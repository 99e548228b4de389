"""Quotients of numerics: PostgreSQL chooses the digits by the values, so many values are tried."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from catalog.postgres.storage import FREE_NUMERIC
from catalog.postgres.storage import Decimal as Numeric
from dialect.spark.numbers.division import divided
from dialect.spark.numbers.long_division import long_quotient
from dialect.spark.rendered import Rendered, spark_type
from executors.spark.session import SparkSettings, close_session, open_session
from tests.support.running.servers import Server

PAIRS = 3000
# Halves at the last digit come of these, and digits without end.
DIVISORS = (3, 6, 7, 2**13, 2**17, 2**18, 2**21, 2**24)
ASKED = """
    SELECT array_agg(a::numeric({0},{1}) / b::numeric({2},{3}) ORDER BY n)
    FROM unnest(%s::numeric[], %s::numeric[]) WITH ORDINALITY AS t(a, b, n)
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


def pairs(dividend: Numeric, divisor: Numeric) -> list[tuple[Decimal, Decimal]]:
    """Numbers of all sizes: the same ones each time."""
    random = Random(7)

    def number(scale: int) -> Decimal:
        longest = 16 if random.random() < 0.2 else 11
        return Decimal(random.randrange(1, 10 ** random.randrange(1, longest))).scaleb(-scale)

    return [
        (
            number(dividend.scale) * random.choice((1, 1, -1)),
            Decimal(random.choice(DIVISORS)) if random.random() < 0.3 else number(divisor.scale),
        )
        for _ in range(PAIRS)
    ]


def has_decimal(quotient: Decimal) -> bool:
    """Whether it can be computed with: 38 digits, 24 of them behind the point."""
    exponent = quotient.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -24 and abs(quotient) < Decimal(10) ** 14


@pytest.mark.service
@pytest.mark.parametrize(
    ("dividend", "divisor"),
    [
        (Numeric(25, 2), Numeric(19, 0)),
        (Numeric(38, 2), Numeric(20, 0)),
        (Numeric(15, 4), Numeric(15, 4)),
        (Numeric(20, 12), Numeric(15, 2)),
    ],
)
def test_quotients_have_postgresqls_digits(
    session: SparkSession, postgres18: Server, tmp_path: Path, dividend: Numeric, divisor: Numeric
) -> None:
    given = pairs(dividend, divisor)
    asked = ASKED.format(dividend.precision, dividend.scale, divisor.precision, divisor.scale)
    with psycopg.connect(postgres18.dsn()) as connection:
        row = connection.execute(asked.encode(), tuple(map(list, zip(*given, strict=True)))).fetchone()
    assert row is not None
    expected = dict(enumerate(row[0]))
    columns = {
        "n": pa.array(expected, pa.int64()),
        "a": pa.array([given[n][0] for n in expected], pa.decimal128(dividend.precision, dividend.scale)),
        "b": pa.array([given[n][1] for n in expected], pa.decimal128(divisor.precision, divisor.scale)),
    }
    pq.write_table(pa.table(columns), tmp_path / "pairs.parquet", store_schema=False)
    session.read.parquet(str(tmp_path / "pairs.parquet")).createOrReplaceTempView("pairs")
    quotient = divided(Rendered("a", dividend), Rendered("b", divisor)).sql
    found = session.sql(f"SELECT n, {quotient} AS q FROM pairs").toArrow().to_pylist()
    assert {row["n"]: row["q"]["text"] for row in found} == {
        n: f"{quotient:f}" for n, quotient in expected.items()
    }
    values = {n: quotient if has_decimal(quotient) else None for n, quotient in expected.items()}
    assert {row["n"]: row["q"]["value"] for row in found} == values


def texts() -> list[tuple[str, str]]:
    """Numbers that show other digits than they need, and what is none."""
    random = Random(11)

    def number() -> str:
        digits = str(random.randrange(10 ** random.randrange(1, 13)))
        behind = random.choice(
            ("", "", ".0", ".00", f".{random.randrange(10 ** random.randrange(1, 9)):07d}")
        )
        return random.choice(("", "", "-")) + digits + behind

    special = ("NaN", "Infinity", "-Infinity", "0", "0.000", "-2.50", "1e-9", "1e9")
    numbers = [(number(), number()) for _ in range(400)]
    return [*numbers, *((one, other) for one in special for other in special)]


@pytest.mark.service
def test_quotients_of_numbers_of_any_scale(session: SparkSession, postgres18: Server) -> None:
    with psycopg.connect(postgres18.dsn()) as connection:
        asked = (
            "SELECT n, a::numeric::text, b::numeric::text, (a::numeric / nullif(b::numeric, 0))::text "
            "FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS t(a, b, n)"
        )
        rows = connection.execute(asked, tuple(map(list, zip(*texts(), strict=True)))).fetchall()
    expected = {n: quotient for n, _a, b, quotient in rows if set(b) - set("-0.")}
    written = pa.table(
        {"n": [row[0] for row in rows], "a": [row[1] for row in rows], "b": [row[2] for row in rows]}
    )
    session.createDataFrame(written).createOrReplaceTempView("written")
    kept = spark_type(FREE_NUMERIC)
    one, other = (f"CAST(named_struct('value', NULL, 'text', {name}) AS {kept})" for name in "ab")
    quotient = long_quotient(Rendered(one, FREE_NUMERIC), Rendered(other, FREE_NUMERIC)).sql
    asked_of_spark = f"SELECT n, {quotient} AS q FROM written WHERE translate(b, '-.0', '') <> ''"
    found = session.sql(asked_of_spark).toArrow().to_pylist()
    assert {row["n"]: row["q"]["text"] for row in found} == expected
    for row in found:
        if row["q"]["value"] is not None:
            assert row["q"]["value"] == Decimal(expected[row["n"]])


@pytest.mark.service
def test_division_by_zero(session: SparkSession) -> None:
    kept = f"CAST(named_struct('value', NULL, 'text', '0.00') AS {spark_type(FREE_NUMERIC)})"
    zero = Rendered(kept, FREE_NUMERIC)
    with pytest.raises(PySparkException, match="22012: division by zero"):
        session.sql(f"SELECT {long_quotient(zero, zero).sql}").collect()
