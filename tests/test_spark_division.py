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
from pyspark.sql import SparkSession

from catalog.errors import FeatureNotSupported
from catalog.storage import FREE_NUMERIC
from catalog.storage import Decimal as Numeric
from dialect.spark_division import divided
from dialect.spark_rendered import Rendered
from dialect.spark_written import value_of
from executors.spark.session import SparkSettings, close_session, open_session
from tests.servers import Server

PAIRS = 3000
# Halves at the last digit come of these, and digits without end.
DIVISORS = (3, 6, 7, 2**13, 2**17, 2**18, 2**21, 2**24)
LEAST = Decimal("1e-7")
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
        return Decimal(random.randrange(1, 10 ** random.randrange(1, 11))).scaleb(-scale)

    return [
        (
            number(dividend.scale) * random.choice((1, 1, -1)),
            Decimal(random.choice(DIVISORS)) if random.random() < 0.3 else number(divisor.scale),
        )
        for _ in range(PAIRS)
    ]


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
    expected = {number: each for number, each in enumerate(row[0]) if abs(each) >= LEAST}
    columns = {
        "n": pa.array(expected, pa.int64()),
        "a": pa.array(
            [given[each][0] for each in expected], pa.decimal128(dividend.precision, dividend.scale)
        ),
        "b": pa.array([given[each][1] for each in expected], pa.decimal128(divisor.precision, divisor.scale)),
    }
    pq.write_table(pa.table(columns), tmp_path / "pairs.parquet", store_schema=False)
    session.read.parquet(str(tmp_path / "pairs.parquet")).createOrReplaceTempView("pairs")
    quotient = divided(Rendered("a", dividend), Rendered("b", divisor)).sql
    found = session.sql(f"SELECT n, {quotient} AS q FROM pairs").toArrow().to_pylist()
    assert {each["n"]: each["q"]["value"] for each in found} == expected
    assert {each["n"]: each["q"]["text"] for each in found} == {
        n: f"{each:f}" for n, each in expected.items()
    }


def test_numbers_of_any_scale_are_not_divided() -> None:
    with pytest.raises(FeatureNotSupported, match="more than 12 digits behind the point"):
        divided(value_of(Rendered("a", FREE_NUMERIC)), Rendered("b", Numeric(10, 0)))
