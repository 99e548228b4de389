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
from coordinator.publish import computed_rows, row_places
from coordinator.publish.changes import Changes
from coordinator.publish.computed_rows import FEW_ROWS, StoredColumn
from coordinator.publish.publishing import apply_changes
from coordinator.publish.result_table import ResultTable
from coordinator.publish.row_places import RowPlaces
from tests.support.running.servers import Server

pytestmark = pytest.mark.service

_COLUMNS = ("a int4", "b text", "c numeric", "d timestamptz", "e json")
_STORED = tuple(
    StoredColumn(f"c{number}", column.split()[1]) for number, column in enumerate(_COLUMNS, start=1)
)


@pytest.fixture(autouse=True, params=[FEW_ROWS, 0], ids=["few", "many"])
def few_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows among the parameters of a statement, and the same rows in a temporary table."""
    monkeypatch.setattr(computed_rows, "FEW_ROWS", request.param)


@pytest.fixture
def connection(postgres15: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres15.dsn()) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE q ({', '.join(_COLUMNS)})")
        connection.commit()
        yield connection


def _oid(connection: psycopg.Connection, name: str) -> int:
    """Of a temporary table."""
    row = connection.execute("SELECT %s::regclass::oid::int8", (f"pg_temp.{name}",)).fetchone()
    assert row is not None
    return int(row[0])


def _answer(
    connection: psycopg.Connection, finish: tuple[str, ...] = ("c1", "c2", "c3", "c4", "c5")
) -> ResultTable:
    return ResultTable(_oid(connection, "q"), _STORED, finish)


def _changes(rows: Sequence[tuple[object, ...]]) -> Changes:
    types = [
        pa.int32(),
        pa.string(),
        pa.decimal128(20, 2),
        pa.timestamp("us", "UTC"),
        pa.string(),
        pa.int64(),
    ]
    names = [*(column.name for column in _STORED), "weight"]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [pa.array(values, type) for values, type in zip(columns, types, strict=True)]
    return Changes.of(pa.table(arrays, names=names))


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


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_found_where_they_lie_and_elsewhere(
    connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Places are hints: after a rollback and a VACUUM FULL they are wrong, and the table is right."""
    monkeypatch.setattr(row_places, "LEAST_BYTES", 0)
    monkeypatch.setattr(computed_rows, "FEW_ROWS", FEW_ROWS)
    source, places, answer = random.Random(seed), RowPlaces(), _answer(connection)
    expected: Counter[tuple[object, ...]] = Counter()
    looked_up = 0
    for _ in range(40):
        change = Counter(_random_row(source) for _ in range(source.randrange(1, 12)))
        for row in source.sample(sorted(expected, key=repr), min(3, len(expected))):
            change[row] -= source.randrange(1, expected[row] + 1)
        rows = [(*row, weight) for row, weight in change.items() if weight]
        is_kept = source.random() < 0.8
        with connection.transaction() as publication:
            looked_up += places.are_known
            apply_changes(connection, answer, _changes(rows), places=places)
            if not is_kept:
                raise psycopg.Rollback(publication)
        if is_kept:
            expected = Counter({row: n for row in {*expected, *change} if (n := expected[row] + change[row])})
        if source.random() < 0.1:
            connection.autocommit = True
            connection.execute("VACUUM FULL q")
            connection.autocommit = False
        assert _rows(connection) == expected
        connection.commit()
    assert looked_up > 10


def test_names_and_constants_have_percent_signs(connection: psycopg.Connection) -> None:
    connection.execute("""CREATE TEMPORARY TABLE "a%b" ("c%s" text, "%%" int)""")
    stored = (StoredColumn("c1", "text"), StoredColumn("c2", "integer"))
    table = ResultTable(_oid(connection, '"a%b"'), stored, ("c1 || '5%%s%'", "c2 OPERATOR(pg_catalog.%) 7"))

    def change(*rows: tuple[str, int, int]) -> None:
        columns = dict(zip(("c1", "c2", "weight"), map(list, zip(*rows, strict=True)), strict=True))
        apply_changes(connection, table, Changes.of(pa.table(columns)))

    change(("x", 9, 1), ("y", 8, 2))
    change(("x", 9, -1), ("y", 8, -1), ("z", 3, 1))
    found = connection.execute("""SELECT * FROM "a%b" ORDER BY 1""").fetchall()
    assert found == [("y5%%s%", 1), ("z5%%s%", 3)]


def test_rows_without_columns(connection: psycopg.Connection) -> None:
    """All that a row has is what PostgreSQL makes of it."""
    connection.execute("CREATE TEMPORARY TABLE u (u text)")
    table = ResultTable(_oid(connection, "u"), (), ("upper('x')",))
    for weight in (3, -2):
        apply_changes(connection, table, Changes.of(pa.table({"weight": [weight]})))
    assert connection.execute("SELECT u FROM u").fetchall() == [("X",)]


def test_a_cast_of_a_user_is_not_asked(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE TYPE mood AS ENUM ('a', 'b'); CREATE FUNCTION other(text) RETURNS mood LANGUAGE sql "
        "AS $$ SELECT CASE WHEN $1 IS NOT NULL THEN mood 'b' END $$; "
        "CREATE CAST (text AS mood) WITH FUNCTION other(text) AS IMPLICIT; "
        "CREATE TEMPORARY TABLE m (m mood, n mood[], j jsonb, k json, t text, e numeric(6, 2)[])"
    )
    types = ("public.mood", "public.mood[]", "jsonb", "json", "text", "numeric(6,2)[]")
    stored = tuple(StoredColumn(f"c{number}", type) for number, type in enumerate(types))
    texts = ["a", "{a,NULL}", '"1"', '{"x":  "\\u00e4"}', "q\"\\,\n\t'", "{1.5,NULL,-0.25}"]
    columns = {column.name: [text, None] for column, text in zip(stored, texts, strict=True)}
    table = ResultTable(_oid(connection, "m"), stored, tuple(column.name for column in stored))
    apply_changes(connection, table, Changes.of(pa.table({**columns, "weight": [1, 1]})))
    found = connection.execute(
        "SELECT m::text, n::text, j::text, k::text, t, e::text FROM m ORDER BY m"
    ).fetchall()
    assert found == [(*texts[:5], "{1.50,NULL,-0.25}"), (None,) * 6]
    connection.rollback()


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
        types = ("date", "time(6)", "interval", "bytea", "integer[]", "double precision", "time[]")
        stored = tuple(
            StoredColumn(f"c{number}", type_, type_.startswith("time")) for number, type_ in enumerate(types)
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
        apply_changes(
            connection,
            ResultTable(_oid(connection, "q"), stored, tuple(column.name for column in stored)),
            Changes.of(table),
        )
        assert connection.execute("SELECT q::text FROM q ORDER BY a").fetchall() == [
            (
                '(0001-01-01,00:00:01.000001,"1 mon -2 days +00:00:00.000003","\\\\x00ff","{1,NULL}",NaN,'
                '"{00:00:00.000001,NULL,23:59:59.999999}")',
            ),
            ('(,,,"\\\\x",{},-Infinity,)',),
        ]
