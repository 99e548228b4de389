"""Replication connections through Gavial: changes stream out, acknowledgements go back, backups are whole."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import pq
from psycopg.pq.abc import PGconn

from tests.product.clients.programs import postgres_program, run
from tests.support.running.servers import Gavial, Server, wait_until

pytestmark = pytest.mark.service

STATUS = struct.Struct("!cQQQQB")


@pytest.fixture(params=[15, 18])
def ends(request: pytest.FixtureRequest) -> tuple[Server, Gavial]:
    return (
        request.getfixturevalue(f"postgres{request.param}"),
        request.getfixturevalue(f"gavial{request.param}"),
    )


@pytest.fixture
def connection(ends: tuple[Server, Gavial]) -> Iterator[psycopg.Connection]:
    """A session on the server itself with a table, and no slot left behind."""
    with psycopg.connect(ends[0].dsn(), autocommit=True) as connection:
        connection.execute("create table streamed (n int primary key, t text)")
        yield connection
        connection.execute("drop table streamed")
        connection.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots")


def test_changes_reach_pg_recvlogical(
    ends: tuple[Server, Gavial], connection: psycopg.Connection, tmp_path: Path
) -> None:
    server, proxy = ends
    received = tmp_path / "changes"
    command = (
        postgres_program("pg_recvlogical", server.major),
        "--dbname",
        proxy.dsn(),
        "--slot=recv",
    )
    run(*command, "--create-slot", "--plugin=test_decoding")
    with connection.transaction():
        connection.execute("insert into streamed select n, repeat('x', 1000) from generate_series(1, 5000) n")
    connection.execute("delete from streamed where n = 1")
    (end,) = connection.execute("select pg_current_wal_insert_lsn()::text").fetchone() or ()
    options = ("--start", f"--endpos={end}", "--no-loop", "--option=include-xids=0", "--file", received)
    run(*command, *options)
    lines = received.read_text().splitlines()
    assert lines[0] == "BEGIN"
    assert sum(line.startswith("table public.streamed: INSERT") for line in lines) == 5000
    assert lines[-3:] == ["BEGIN", "table public.streamed: DELETE: n[integer]:1", "COMMIT"]
    run(*command, "--drop-slot")


def walsender(proxy: Gavial) -> PGconn:
    pgconn = pq.PGconn.connect(proxy.dsn(replication="database").encode())
    assert pgconn.status == pq.ConnStatus.OK, pgconn.get_error_message()
    return pgconn


def test_copy_both_streams_and_acknowledges(
    ends: tuple[Server, Gavial], connection: psycopg.Connection
) -> None:
    pgconn = walsender(ends[1])
    made = pgconn.exec_(b"CREATE_REPLICATION_SLOT both LOGICAL test_decoding")
    assert made.status == pq.ExecStatus.TUPLES_OK
    assert pgconn.exec_(b"SELECT 1").get_value(0, 0) == b"1"
    started = pgconn.exec_(b"START_REPLICATION SLOT both LOGICAL 0/0")
    assert started.status == pq.ExecStatus.COPY_BOTH
    connection.execute("insert into streamed values (1, 'one')")
    position = 0
    texts: list[bytes] = []
    while not texts or not texts[-1].startswith(b"COMMIT"):
        size, data = pgconn.get_copy_data(0)
        assert size > 0
        if data[0] == ord("w"):
            position = max(position, struct.unpack_from("!QQ", data, 1)[1])
            texts.append(bytes(data[25:]))
    assert texts[1] == b"table public.streamed: INSERT: n[integer]:1 t[text]:'one'"
    acknowledge(pgconn, position)
    query = "select confirmed_flush_lsn = '0/0'::pg_lsn + %s from pg_replication_slots"
    wait_until(lambda: connection.execute(query, (position,)).fetchone() == (True,), "not acknowledged")
    pgconn.put_copy_end()
    pgconn.flush()
    while pgconn.get_copy_data(0)[0] > 0:
        pass
    pgconn.finish()
    wait_until(
        lambda: connection.execute("select active from pg_replication_slots").fetchone() == (False,),
        "the walsender outlives its client",
    )


def acknowledge(pgconn: PGconn, position: int) -> None:
    pgconn.put_copy_data(STATUS.pack(b"r", position, position, position, 0, 0))
    pgconn.flush()


def test_walsender_commands_are_left_alone(ends: tuple[Server, Gavial]) -> None:
    pgconn = walsender(ends[1])
    answered = pgconn.exec_(b"IDENTIFY_SYSTEM")
    assert [answered.fname(n) for n in range(4)] == [b"systemid", b"timeline", b"xlogpos", b"dbname"]
    refused = pgconn.exec_(b"START_REPLICATION SLOT missing LOGICAL 0/0")
    assert refused.error_field(pq.DiagnosticField.SQLSTATE) == b"42704"
    shown = pgconn.exec_(b"SHOW server_version")
    assert shown.command_status == b"SHOW"
    pgconn.finish()


def test_base_backup_is_whole(ends: tuple[Server, Gavial], tmp_path: Path) -> None:
    server, proxy = ends
    backup = tmp_path / "backup"
    options = ("--checkpoint=fast", "--wal-method=stream", "--no-sync", "--pgdata", backup)
    run(postgres_program("pg_basebackup", server.major), "--dbname", proxy.dsn(), *options)
    run(postgres_program("pg_verifybackup", server.major), backup)
