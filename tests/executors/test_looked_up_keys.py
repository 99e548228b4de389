"""Rows that are looked up by keys of every type, each look-up compared with a scan of the log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.errors import InternalError
from catalog.postgres.schema import Column, Table, TableName
from catalog.postgres.types import (
    BOOL,
    BPCHAR,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    UUID,
    VARCHAR,
    SqlType,
)
from dialect.expressions.environment import DEFAULT
from executors.duckdb import comparing, stepping
from executors.duckdb.arrangement import Arrangement
from executors.duckdb.arrangements import Room
from executors.duckdb.executor import DuckDBExecutor
from executors.reference.firing import Changes
from executors.reference.values.values import NAN, NAN_NUMERIC, Value
from executors.spark.executor import spark_schemas
from planner.algebra.columns import Numbers, refer
from planner.algebra.equality import equal, is_written_one_way
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Aggregated,
    Field,
    Join,
    JoinKind,
    LogicalQuery,
    Output,
    Scan,
    fields,
)
from planner.delta.derive import derive
from sources.warehouse.warehouse import Warehouse
from tests.executors.test_duckdb import OrByDefinition
from tests.support.planning.random_plans import columns_of
from tests.support.spark.logs_in_files import LogsInFiles
from tests.support.spark.side_by_side import SideBySide

TWO_DIGITS: Final = ((10 << 16) | 2) + 4
NO_DIGITS: Final = (30 << 16) + 4
FIVE: Final = 5 + 4
COLLATED: Final = 12345
NUMBERS: Final = (
    "1",
    "1.0",
    "1.000",
    "0",
    "0.00",
    "-1.5",
    "-1.50",
    "12345678901234567890.123456789012345678",
)
KEYS: Final[Mapping[str, tuple[SqlType, Sequence[Value]]]] = {
    "bool": (SqlType(BOOL), [True, False]),
    "int2": (SqlType(INT2), [-(2**15), 0, 2**15 - 1]),
    "int4": (SqlType(INT4), [-(2**31), 0, 2**31 - 1]),
    "int8": (SqlType(INT8), [-(2**63), 0, 2**63 - 1]),
    "float4": (SqlType(FLOAT4), [NAN, 0.0, -0.0, math.inf, -math.inf, 1.5]),
    "float8": (SqlType(FLOAT8), [NAN, 0.0, -0.0, math.inf, -math.inf, 0.1, 5e-324]),
    "numeric": (SqlType(NUMERIC), [*map(Decimal, NUMBERS)]),
    "numeric without decimals": (
        SqlType(NUMERIC),
        [NAN_NUMERIC, Decimal("Infinity"), Decimal(1).scaleb(50), Decimal("1.5").scaleb(-30)],
    ),
    "numeric(10,2)": (SqlType(NUMERIC, TWO_DIGITS), [Decimal("0.00"), Decimal("-1.50"), Decimal("2.25")]),
    "numeric(30)": (SqlType(NUMERIC, NO_DIGITS), [Decimal(0), Decimal(10**29)]),
    "text": (SqlType(TEXT), ["", " ", "a", "a ", "ä", "a\u0308", "A", "ß"]),
    "text that collates": (SqlType(TEXT, collation=COLLATED), ["", "a", "A", "ä", "a\u0308", "z"]),
    "varchar": (SqlType(VARCHAR), ["", "a", "a "]),
    "character(5)": (SqlType(BPCHAR, FIVE), ["", "a", "ab"]),
    "bytea": (SqlType(BYTEA), [b"", b"\x00", b"\xff"]),
    "date": (SqlType(DATE), [date(1, 1, 1), date(2026, 2, 28), date(9999, 12, 31)]),
    "time": (SqlType(TIME), [time(0), time(23, 59, 59, 999_999)]),
    "timestamp": (SqlType(TIMESTAMP), [datetime(1, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 1)]),
    "uuid": (SqlType(UUID), ["00000000-0000-0000-0000-000000000000", "a" * 8 + "-0000" * 3 + "-" + "0" * 12]),
}

LEFT, RIGHT = TableName("public", "l"), TableName("public", "r")


def table(name: TableName, type: SqlType) -> Table:
    number = SqlType(INT4)
    return Table(
        name, (Column("key", type, attribute=1), Column("number", number, nullable=False, attribute=2))
    )


def query(type: SqlType, kind: JoinKind, *, is_grouped: bool) -> LogicalQuery:
    """A join of two tables by their keys; grouped by the key, or not."""
    numbers = Numbers()
    left, right = (Scan(name, name.name, columns_of(table(name, type), numbers)) for name in (LEFT, RIGHT))
    (key, number), (other, _) = fields(left), fields(right)
    condition = equal(refer(key), refer(other))
    assert condition is not None
    join = Join(kind, left, right, condition)
    count = AggregateCall(2803, "count", (), SqlType(INT8))
    counted = numbers.field("count", SqlType(INT8))
    plan = Aggregate(join, (key,), (Aggregated(counted, count),)) if is_grouped else join
    shown: tuple[Field, ...] = (key, counted) if is_grouped else (key, number)
    return LogicalQuery(plan, tuple(Output(field.name, field.column) for field in shown))


@st.composite
def histories(draw: st.DrawFn, keys: Sequence[Value]) -> list[dict[TableName, Changes]]:
    """Commits that insert, delete and update rows which are there."""
    present: dict[TableName, list[tuple[Value, ...]]] = {LEFT: [], RIGHT: []}
    values = st.none() | st.sampled_from(list(keys))
    commits = []
    for _ in range(draw(st.integers(2, 5))):
        commit: dict[TableName, Changes] = {}
        for name, rows in present.items():
            changes: list[tuple[tuple[Value, ...], int]] = []
            for _ in range(draw(st.integers(0, 2)) if rows else 0):
                if not rows:
                    break
                gone = rows.pop(draw(st.integers(0, len(rows) - 1)))
                changes.append((gone, -1))
                if draw(st.booleans()):  # an update
                    rows.append((draw(values), gone[1]))
                    changes.append((rows[-1], 1))
            for _ in range(draw(st.integers(0, 4))):
                rows.append((draw(values), draw(st.integers(0, 3))))
                changes.append((rows[-1], 1))
            commit[name] = changes
        commits.append(commit)
    return commits


def play(
    executor: OrByDefinition,
    warehouse: Warehouse,
    type: SqlType,
    keys: Sequence[Value],
    data: st.DataObject,
) -> None:
    """A history of joined rows; batches become files of two while they are read.

    Groups are of keys that are written in one way: a plan trims others before.
    """
    join = data.draw(st.sampled_from([JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI]))
    is_grouped = is_written_one_way(type) and data.draw(st.booleans())
    plan = derive(query(type, join, is_grouped=is_grouped))
    schemas = spark_schemas(plan, DEFAULT)
    running = SideBySide(executor, plan, schemas, buffers=partial(LogsInFiles, warehouse=warehouse))
    running.fire_all()
    for commit in data.draw(histories(keys)):
        running.replay.commit(commit)
        running.fire_all()


def executor_in(directory: Path) -> OrByDefinition:
    room = Room(directory, 2**28, fewest_rows=0, is_compared=True)
    return OrByDefinition(DuckDBExecutor(1000, 2**28, room, fewest_held_rows=0))


@pytest.mark.parametrize("kind", KEYS)
def test_what_is_looked_up_is_what_a_scan_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    executor = executor_in(tmp_path)
    compared = 0
    compare = comparing.require_same

    def counted(*arguments: object) -> None:
        nonlocal compared
        compared += 1
        compare(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(stepping, "require_same", counted)

    @settings(max_examples=8, deadline=None)
    @given(data=st.data())
    def play_one(data: st.DataObject) -> None:
        play(executor, Warehouse(str(tmp_path)), *KEYS[kind], data)

    play_one()
    assert compared > 2
    assert executor.counts["computed"] > 0.5 * executor.counts.total()


@pytest.mark.parametrize("fault", ["nothing is found", "a row is found twice", "a row is missing"])
def test_a_wrong_look_up_is_an_error_that_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    found = Arrangement.find

    def wrong(arrangement: Arrangement, *arguments: object) -> object:
        batches = found(arrangement, *arguments)  # type: ignore[arg-type]
        match fault:
            case "nothing is found":
                return [batch.slice(0, 0) for batch in batches]
            case "a row is found twice":
                return [*batches, *(batch.slice(0, 1) for batch in batches[:1])]
            case _:
                return [batch.slice(1) for batch in batches]

    plan = derive(query(SqlType(INT4), JoinKind.INNER, is_grouped=False))
    warehouse = Warehouse(str(tmp_path))
    running = SideBySide(
        executor_in(tmp_path),
        plan,
        spark_schemas(plan, DEFAULT),
        buffers=partial(LogsInFiles, warehouse=warehouse),
    )
    rows: Changes = [((1, number), 1) for number in range(3)]
    for commit in ({LEFT: rows}, {RIGHT: rows}, {LEFT: rows}, {RIGHT: rows}):
        running.replay.commit(commit)
    running.fire_all()
    monkeypatch.setattr(Arrangement, "find", wrong)
    running.replay.commit({LEFT: [((1, 5), 1)]})
    with pytest.raises(InternalError, match=r"buffer node-.*-\d, key \(\w+\), offset 4$"):
        running.fire_all()
