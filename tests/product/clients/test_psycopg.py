"""psycopg on PostgreSQL itself and through Gavial: the same assertions hold in both places."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import pq
from psycopg.types.json import Jsonb
from psycopg.types.range import Range

pytestmark = pytest.mark.service

ROWS = 100_000


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def rows(connection: psycopg.Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def pipeline_results(connection: psycopg.Connection) -> list[str]:
    """What libpq reports for the queries of a pipeline, up to and with its last Sync."""
    statuses = []
    syncs = 2
    while syncs:
        result = connection.pgconn.get_result()
        if result is None:
            continue
        syncs -= result.status == pq.ExecStatus.PIPELINE_SYNC
        statuses.append(pq.ExecStatus(result.status).name)
    return statuses


def test_pipeline_skips_from_an_error_to_the_sync(connection: psycopg.Connection) -> None:
    pgconn = connection.pgconn
    pgconn.enter_pipeline_mode()
    for query in (b"select 1", b"select 1/0", b"select 2"):
        pgconn.send_query_params(query, None)
    pgconn.pipeline_sync()
    pgconn.send_query_params(b"select 3", None)
    pgconn.pipeline_sync()
    assert pipeline_results(connection) == [
        "TUPLES_OK",
        "FATAL_ERROR",
        "PIPELINE_ABORTED",
        "PIPELINE_SYNC",
        "TUPLES_OK",
        "PIPELINE_SYNC",
    ]
    pgconn.exit_pipeline_mode()
    assert rows(connection, "select 4") == [(4,)]


def test_pipeline_is_one_transaction_up_to_its_sync(connection: psycopg.Connection) -> None:
    connection.execute("create temp table piped (n int)")
    with pytest.raises(psycopg.errors.DivisionByZero), connection.pipeline():
        connection.execute("insert into piped values (1)")
        connection.execute("select 1/0")
        connection.execute("insert into piped values (2)")
    assert rows(connection, "select count(*) from piped") == [(0,)]


def test_pipeline_of_two_thousand_statements(connection: psycopg.Connection) -> None:
    with connection.pipeline():
        cursors = [connection.execute("select %s::int, repeat('x', 1000)", (n,)) for n in range(2000)]
        answers = [cursor.fetchone() for cursor in cursors]
    assert answers == [(n, "x" * 1000) for n in range(2000)]


def test_executemany_returns_every_row(connection: psycopg.Connection) -> None:
    connection.execute("create temp table many (n int, t text)")
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into many values (%s, %s) returning n",
            [(n, str(n)) for n in range(1000)],
            returning=True,
        )
        returned = [result.fetchone() for result in cursor.results()]
    assert returned == [(n,) for n in range(1000)]


def test_copy_of_text_in_and_out(connection: psycopg.Connection) -> None:
    lines = b"".join(b"%d\tback\\\\slash \\t %d\n" % (n, n) for n in range(ROWS))
    connection.execute("create temp table copied (n int, t text)")
    with connection.cursor() as cursor:
        with cursor.copy("copy copied from stdin") as copy:
            for start in range(0, len(lines), 70_001):
                copy.write(lines[start : start + 70_001])
        assert cursor.statusmessage == f"COPY {ROWS}"
        with cursor.copy("copy copied to stdout") as copy:
            assert b"".join(bytes(block) for block in copy) == lines


def test_copy_of_binary_rows_in_and_out(connection: psycopg.Connection) -> None:
    written = [(n, f"row {n}", decimal.Decimal(n) / 4) for n in range(10_000)]
    connection.execute("create temp table copied (n int4, t text, d numeric)")
    with connection.cursor() as cursor:
        with cursor.copy("copy copied from stdin (format binary)") as copy:
            copy.set_types(["int4", "text", "numeric"])
            for row in written:
                copy.write_row(row)
        with cursor.copy("copy copied to stdout (format binary)") as copy:
            copy.set_types(["int4", "text", "numeric"])
            assert list(copy.rows()) == written


def test_copy_abandoned_by_the_client(connection: psycopg.Connection) -> None:
    connection.execute("create temp table copied (n int)")
    with (
        pytest.raises(ArithmeticError),
        connection.cursor() as cursor,
        cursor.copy("copy copied from stdin") as copy,
    ):
        copy.write(b"1\n" * 1000)
        raise ArithmeticError
    assert connection.info.transaction_status == pq.TransactionStatus.IDLE
    assert rows(connection, "select count(*) from copied") == [(0,)]


def test_copy_refused_while_the_client_still_sends(connection: psycopg.Connection) -> None:
    connection.execute("create temp table copied (n int)")
    with (
        pytest.raises(psycopg.errors.InvalidTextRepresentation, match="copied, line 3"),
        connection.cursor() as cursor,
        cursor.copy("copy copied from stdin") as copy,
    ):
        copy.write(b"1\n2\nthree\n")
        for _ in range(200):
            copy.write(b"4\n" * 10_000)
    assert rows(connection, "select count(*) from copied") == [(0,)]


def test_server_side_cursor_scrolls(connection: psycopg.Connection) -> None:
    with connection.transaction(), connection.cursor("scrolling", scrollable=True) as cursor:
        cursor.execute("select generate_series(1, 1000)")
        assert cursor.fetchmany(2) == [(1,), (2,)]
        cursor.scroll(500, mode="absolute")
        assert cursor.fetchone() == (501,)
        cursor.scroll(-2)
        assert cursor.fetchone() == (500,)
        assert len(cursor.fetchall()) == 500


def test_server_side_cursor_outlives_its_transaction(connection: psycopg.Connection) -> None:
    with connection.cursor("held", withhold=True) as cursor:
        with connection.transaction():
            cursor.execute("select generate_series(1, 1000)")
        cursor.itersize = 7
        assert sum(n for (n,) in cursor) == 500_500


def test_server_side_cursor_of_binary_rows(connection: psycopg.Connection) -> None:
    with connection.transaction(), connection.cursor("binary", binary=True) as cursor:
        cursor.execute("select %s::numeric, %s::timestamptz", ("1.50", "2001-02-03 04:05:06+00"))
        moment = datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
        assert cursor.fetchall() == [(decimal.Decimal("1.50"), moment)]


def test_rows_stream_one_by_one_and_in_chunks(connection: psycopg.Connection) -> None:
    with connection.cursor() as cursor:
        for size in (1, 100):
            stream = cursor.stream("select generate_series(1, 5000)", size=size)
            assert sum(n for (n,) in stream) == 12_502_500


def test_prepared_statement_is_the_servers(connection: psycopg.Connection) -> None:
    for n in range(3):
        assert connection.execute("select %s::int + 1", (n,), prepare=True).fetchone() == (n + 1,)
    query = "select statement, generic_plans + custom_plans from pg_prepared_statements"
    assert rows(connection, query) == [("select $1::int + 1", 3)]
    connection.execute("deallocate all")
    assert rows(connection, query) == []


def test_prepared_statement_whose_rows_changed_type(connection: psycopg.Connection) -> None:
    connection.execute("create temp table shaped (n int)")
    connection.pgconn.prepare(b"shape", b"select * from shaped")
    connection.execute("alter table shaped add column m int")
    refused = connection.pgconn.exec_prepared(b"shape", [])
    assert refused.error_field(pq.DiagnosticField.SQLSTATE) == b"0A000"
    assert (
        refused.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) == b"cached plan must not change result type"
    )


def test_prepared_statement_is_described_and_closed(connection: psycopg.Connection) -> None:
    pgconn = connection.pgconn
    assert pgconn.prepare(b"named", b"select $1::int4 as n, $2::text as t").status == pq.ExecStatus.COMMAND_OK
    described = pgconn.describe_prepared(b"named")
    assert [described.param_type(n) for n in range(described.nparams)] == [23, 25]
    assert [(described.fname(n), described.ftype(n)) for n in range(described.nfields)] == [
        (b"n", 23),
        (b"t", 25),
    ]
    assert pgconn.close_prepared(b"named").status == pq.ExecStatus.COMMAND_OK
    refused = pgconn.exec_prepared(b"named", [b"1", b"x"])
    assert refused.error_field(pq.DiagnosticField.SQLSTATE) == b"26000"


VALUES: tuple[Any, ...] = (
    True,
    -(2**15),
    2**31 - 1,
    2**63 - 1,
    decimal.Decimal("123456789012345678901234567890.000000001"),
    1.5e300,
    "naïve ☃ text",
    bytes(range(256)) * 4096,
    datetime.date(1, 1, 1),
    datetime.datetime(2026, 2, 28, 23, 59, 59, 999999, tzinfo=datetime.UTC),
    datetime.timedelta(days=-3, microseconds=1),
    uuid.UUID(int=2**127 + 1),
    ipaddress.ip_network("10.0.0.0/8"),
    [[1, 2], [3, 4]],
    Range(decimal.Decimal(1), decimal.Decimal(5), "[)"),
    Jsonb({"key": [1, None, "two"]}),
    None,
)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_value_comes_back(connection: psycopg.Connection, value: object, binary: bool) -> None:
    parameter = "%b" if binary else "%t"
    cursor = connection.cursor(binary=binary)
    cast = "::numrange" if isinstance(value, Range) else ""
    row = cursor.execute(f"select {parameter}{cast}", (value,)).fetchone()
    assert row == (value.obj if isinstance(value, Jsonb) else value,)


def test_large_object_of_three_megabytes(connection: psycopg.Connection) -> None:
    content = bytes(range(251)) * 12_000
    with connection.transaction(force_rollback=True):
        row = connection.execute("select lo_from_bytea(0, %b)", (content,)).fetchone()
        assert row is not None
        assert connection.execute("select lo_get(%s)", row, binary=True).fetchone() == (content,)


def test_notices_arrive_in_order_with_their_fields(connection: psycopg.Connection) -> None:
    notices: list[tuple[str | None, str | None, str | None]] = []
    connection.add_notice_handler(
        lambda notice: notices.append((notice.severity, notice.sqlstate, notice.message_primary))
    )
    connection.execute("set client_min_messages = debug1")
    connection.execute("""do $$ begin
        raise debug 'zero'; raise notice 'one'; raise warning 'two' using errcode = '01ABC';
        raise info 'three';
    end $$""")
    connection.execute("reset client_min_messages")
    assert [notice for notice in notices if notice[2] in {"zero", "one", "two", "three"}] == [
        ("DEBUG", "00000", "zero"),
        ("NOTICE", "00000", "one"),
        ("WARNING", "01ABC", "two"),
        ("INFO", "00000", "three"),
    ]


def test_error_carries_every_field(connection: psycopg.Connection) -> None:
    connection.execute("create temp table strict (n int constraint positive check (n > 0))")
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        connection.execute("insert into strict values (-1)")
    diagnosis = refused.value.diag
    assert diagnosis.constraint_name == "positive"
    assert diagnosis.table_name == "strict"
    assert diagnosis.message_detail == "Failing row contains (-1)."
    assert diagnosis.source_function == "ExecConstraints"
    with pytest.raises(psycopg.errors.UndefinedTable) as missing:
        connection.execute("select 1;\nselect * from nowhere")
    assert missing.value.diag.statement_position == "25"


def test_several_results_of_one_query(connection: psycopg.Connection) -> None:
    cursor = connection.execute(
        "select 1; create temp table made (n int); insert into made values (1), (2); table made"
    )
    statuses = [cursor.statusmessage]
    while cursor.nextset():
        statuses.append(cursor.statusmessage)
    assert statuses == ["SELECT 1", "CREATE TABLE", "INSERT 0 2", "SELECT 2"]
    assert cursor.fetchall() == [(1,), (2,)]
