"""Changes of an answer applied to its table: as multisets, to the byte, whatever the types."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest

from catalog.errors import ResultDiffers
from coordinator.publish.publishing import ResultTable, StoredColumn, apply_changes
from tests.support.running.servers import Server

pytestmark = pytest.mark.service

_COLUMNS = ("a int4", "b text", "c numeric", "d timestamptz", "e json")
_STORED = tuple(StoredColumn(f"c{number}", each.split()[1]) for number, each in enumerate(_COLUMNS, start=1))


@pytest.fixture
def connection(postgres15: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres15.dsn()) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE q ({', '.join(_COLUMNS)})")
        connection.commit()
        yield connection


def _answer(
    connection: psycopg.Connection, finish: tuple[str, ...] = ("c1", "c2", "c3", "c4", "c5")
) -> ResultTable:
    row = connection.execute("SELECT 'pg_temp.q'::regclass::oid::int8").fetchone()
    assert row is not None
    return ResultTable(row[0], _STORED, finish)


def _changes(rows: Sequence[tuple[object, ...]]) -> pa.Table:
    types = [
        pa.int32(),
        pa.string(),
        pa.decimal128(20, 2),
        pa.timestamp("us", "UTC"),
        pa.string(),
        pa.int64(),
    ]
    names = [*(each.name for each in _STORED), "weight"]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table(
        [pa.array(values, type) for values, type in zip(columns, types, strict=True)], names=names
    )


def _rows(connection: psycopg.Connection) -> Counter[tuple[object, ...]]:
    return Counter(connection.execute("SELECT a, b, c, d, e::text FROM q").fetchall())


def _random_row(source: random.Random) -> tuple[object, ...]:
    return (
        source.choice([None, 1, 2]),
        source.choice([None, "", "x", 'a"b,\n\\N', "NULL"]),
        source.choice([None, Decimal("1.50"), Decimal("-0.01")]),
        source.choice([None, datetime(2024, 2, 29, 12, 0, 0, 5, UTC)]),
        source.choice([None, '{"a": 1}', "[]"]),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_table_is_the_sum_of_all_changes(connection: psycopg.Connection, seed: int) -> None:
    source = random.Random(seed)
    answer = _answer(connection)
    expected: Counter[tuple[object, ...]] = Counter()
    for _ in range(12):
        change: Counter[tuple[object, ...]] = Counter()
        for _ in range(source.randrange(12)):
            change[_random_row(source)] += source.randrange(1, 4)
        for row in source.sample(sorted(expected, key=repr), min(3, len(expected))):
            change[row] -= source.randrange(1, expected[row] + 1)
        rows = [(*row, weight) for row, weight in change.items() if weight]
        with connection.transaction():
            apply_changes(connection, answer, _changes(rows))
        expected = Counter({row: n for row in {*expected, *change} if (n := expected[row] + change[row])})
        assert _rows(connection) == expected


def test_what_cancels_touches_nothing(connection: psycopg.Connection) -> None:
    row = (1, "x", Decimal("1.00"), None, None)
    with connection.transaction():
        assert apply_changes(connection, _answer(connection), _changes([(*row, 2), (*row, -2)])) == (0, 0)


def test_the_last_columns_are_postgresqls(connection: psycopg.Connection) -> None:
    answer = _answer(connection, ("c1", "upper(c2)", "c3 / 7", "NULL", "NULL"))
    rows = [(1, "x", Decimal("10.00"), None, None, 1), (2, "y", Decimal("20.00"), None, None, 1)]
    with connection.transaction():
        apply_changes(connection, answer, _changes(rows))
        apply_changes(connection, answer, _changes([(*rows[0][:-1], -1)]))
    assert connection.execute("SELECT a, b, c = 20.00::numeric / 7 FROM q").fetchall() == [(2, "Y", True)]


def test_a_row_that_is_not_there_is_noticed(connection: psycopg.Connection) -> None:
    with pytest.raises(ResultDiffers), connection.transaction():
        apply_changes(connection, _answer(connection), _changes([(1, "x", Decimal(1), None, None, -1)]))
    assert not _rows(connection)


def test_dates_and_times(postgres15: Server) -> None:
    with psycopg.connect(postgres15.dsn()) as connection:
        connection.execute(
            "CREATE TEMPORARY TABLE q (a date, b time(6), c interval, d bytea, e int4[], f float8, g time[])"
        )
        row = connection.execute("SELECT 'pg_temp.q'::regclass::oid::int8").fetchone()
        assert row is not None
        types = ("date", "time(6)", "interval", "bytea", "integer[]", "double precision", "time[]")
        stored = tuple(
            StoredColumn(f"c{number}", each, each.startswith("time")) for number, each in enumerate(types)
        )
        interval = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())])
        table = pa.table(
            {
                "c0": pa.array([date(1, 1, 1), None]),
                "c1": pa.array([1_000_001, None], pa.int64()),
                "c2": pa.array([{"months": 1, "days": -2, "microseconds": 3}, None], interval),
                "c3": pa.array([b"\x00\xff", b""], pa.binary()),
                "c4": pa.array([[1, None], []], pa.list_(pa.int32())),
                "c5": pa.array([float("nan"), float("-inf")], pa.float64()),
                "c6": pa.array([[1, None, 86_399_999_999], None], pa.list_(pa.int64())),
                "weight": pa.array([1, 1], pa.int64()),
            }
        )
        apply_changes(connection, ResultTable(row[0], stored, tuple(each.name for each in stored)), table)
        assert connection.execute("SELECT q::text FROM q ORDER BY a").fetchall() == [
            (
                '(0001-01-01,00:00:01.000001,"1 mon -2 days +00:00:00.000003","\\\\x00ff","{1,NULL}",NaN,'
                '"{00:00:00.000001,NULL,23:59:59.999999}")',
            ),
            ('(,,,"\\\\x",{},-Infinity,)',),
        ]
