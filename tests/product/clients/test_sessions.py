"""Settings, transactions, cancel and notifications of sessions, direct and through Gavial (G26)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import pq

from tests.support.running.servers import wait_until

pytestmark = pytest.mark.service

PATIENCE_SECONDS = 30


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def value(connection: psycopg.Connection, query: str, *parameters: object) -> Any:
    row = connection.execute(query, parameters or None).fetchone()
    assert row is not None
    return row[0]


def sleeping(watcher: psycopg.Connection, pid: int) -> bool:
    query = "select count(*) from pg_stat_activity where pid = %s and wait_event = 'PgSleep'"
    return bool(value(watcher, query, pid))


def gone(watcher: psycopg.Connection, pid: int) -> bool:
    return not value(watcher, "select count(*) from pg_stat_activity where pid = %s", pid)


def test_start_up_parameters_reach_the_server(dsn: str) -> None:
    with psycopg.connect(
        dsn,
        application_name="a name with 'quotes' and ünï",
        options="-c work_mem=5MB -c search_path=pg_catalog,\\ public -c my.own=1",
        client_encoding="LATIN1",
    ) as connection:
        assert value(connection, "show work_mem") == "5MB"
        assert value(connection, "show my.own") == "1"
        assert value(connection, "show search_path") == "pg_catalog, public"
        assert value(connection, "show client_encoding") == "LATIN1"
        assert value(connection, "select chr(233) || %s", "ü") == "éü"
        query = "select application_name from pg_stat_activity where pid = pg_backend_pid()"
        assert value(connection, query) == value(connection, "show application_name")


def test_reported_parameters_follow_the_session(connection: psycopg.Connection) -> None:
    info = connection.info
    assert info.parameter_status("standard_conforming_strings") == "on"
    connection.execute("set application_name = 'changed'; set timezone = 'Asia/Tokyo'")
    assert info.parameter_status("application_name") == "changed"
    assert info.parameter_status("TimeZone") == "Asia/Tokyo"
    connection.execute("begin; set local datestyle = 'German'")
    assert str(info.parameter_status("DateStyle")).startswith("German")
    connection.execute("rollback")
    assert str(info.parameter_status("DateStyle")).startswith("ISO")


def test_process_number_is_the_servers(connection: psycopg.Connection) -> None:
    assert value(connection, "select pg_backend_pid()") == connection.info.backend_pid


def test_newest_protocol_of_the_server_is_spoken(dsn: str) -> None:
    with psycopg.connect(dsn, max_protocol_version="latest") as connection:
        newest = 30002 if connection.info.server_version >= 180000 else 30000
        assert connection.pgconn.full_protocol_version == newest
        assert value(connection, "select 1") == 1


def test_unknown_database_is_refused_as_by_the_server(dsn: str) -> None:
    with pytest.raises(psycopg.OperationalError, match='database "nowhere" does not exist'):
        psycopg.connect(dsn, dbname="nowhere")


def test_bad_start_up_option_is_refused_as_by_the_server(dsn: str) -> None:
    with pytest.raises(psycopg.OperationalError, match='invalid value for parameter "work_mem"'):
        psycopg.connect(dsn, options="-c work_mem=much")


def test_transactions_and_savepoints_nest(connection: psycopg.Connection) -> None:
    connection.execute("create temp table nested (n int)")
    with connection.transaction():
        connection.execute("insert into nested values (1)")
        with pytest.raises(psycopg.errors.DivisionByZero), connection.transaction():
            connection.execute("insert into nested values (2)")
            connection.execute("select 1/0")
        assert connection.info.transaction_status == pq.TransactionStatus.INTRANS
        with connection.transaction(force_rollback=True):
            connection.execute("insert into nested values (3)")
        connection.execute("insert into nested values (4)")
    assert connection.execute("table nested").fetchall() == [(1,), (4,)]


def test_failed_transaction_refuses_until_its_end(connection: psycopg.Connection) -> None:
    connection.execute("begin")
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("select * from nowhere")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute("select 1")
    assert connection.execute("commit").statusmessage == "ROLLBACK"
    assert connection.info.transaction_status == pq.TransactionStatus.IDLE


@pytest.mark.parametrize("place", ["postgres15", "gavial15", "postgres18", "gavial18"], indirect=True)
def test_two_phase_commit_across_connections(dsn: str) -> None:
    with closing(psycopg.connect(dsn)) as first, closing(psycopg.connect(dsn)) as second:
        identity = first.xid(1, "gavial test", "branch")
        first.tpc_begin(identity)
        first.execute("create table prepared_here (n int)")
        first.tpc_prepare()
        (recovered,) = [found for found in second.tpc_recover() if found.gtrid == "gavial test"]
        second.rollback()
        second.tpc_commit(recovered)
        second.execute("drop table prepared_here")
        second.commit()


@pytest.mark.parametrize("protocol", ["3.0", "latest"])
@pytest.mark.parametrize("way", ["cancel_safe", "cancel"])
def test_cancel_ends_one_statement_of_one_session(dsn: str, way: str, protocol: str) -> None:
    with (
        psycopg.connect(dsn, autocommit=True, max_protocol_version=protocol) as session,
        psycopg.connect(dsn, autocommit=True) as neighbour,
        psycopg.connect(dsn, autocommit=True) as watcher,
    ):
        watcher.execute("select pg_advisory_lock(1)")
        neighbour.pgconn.send_query(b"select pg_advisory_lock(1)")

        def cancel() -> None:
            wait_until(lambda: sleeping(watcher, session.info.backend_pid), "nothing to cancel")
            getattr(session, way)()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            session.execute("select pg_sleep(600)")
        canceller.join()
        assert value(session, "select 1") == 1
        watcher.execute("select pg_advisory_unlock(1)")
        undisturbed = neighbour.pgconn.get_result()
        assert undisturbed is not None
        assert undisturbed.status == pq.ExecStatus.TUPLES_OK
        assert neighbour.pgconn.get_result() is None


def test_statement_timeout_holds(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True, options="-c statement_timeout=200ms") as session:
        with pytest.raises(psycopg.errors.QueryCanceled, match="due to statement timeout"):
            session.execute("select pg_sleep(600)")
        assert value(session, "select 1") == 1


def test_session_idle_in_a_transaction_is_ended_by_its_timeout(dsn: str) -> None:
    with (
        psycopg.connect(dsn, autocommit=True) as watcher,
        psycopg.connect(dsn, options="-c idle_in_transaction_session_timeout=200ms") as session,
    ):
        session.execute("select 1")
        wait_until(lambda: gone(watcher, session.info.backend_pid), "the timeout does not hold")
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            session.execute("select 1")


def test_terminated_session_is_told_why(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as watcher:
        session = psycopg.connect(dsn, autocommit=True)
        assert value(watcher, "select pg_terminate_backend(%s, 30000)", session.info.backend_pid)
        with pytest.raises(psycopg.errors.AdminShutdown, match="due to administrator command"):
            session.execute("select 1")
        session.close()


def test_session_of_a_client_that_left_ends(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as watcher:
        session = psycopg.connect(dsn)
        session.execute("select 1")
        pid = session.info.backend_pid
        session.close()
        wait_until(lambda: gone(watcher, pid), "the session outlives its client")


def test_notifications_reach_who_listens(dsn: str) -> None:
    with (
        psycopg.connect(dsn, autocommit=True) as listener,
        psycopg.connect(dsn, autocommit=True) as sender,
    ):
        listener.execute("listen news")
        with sender.transaction():
            for n in range(100):
                sender.execute("select pg_notify('news', %s)", (f"item {n}" + "." * 7000,))
        received = listener.notifies(timeout=PATIENCE_SECONDS, stop_after=100)
        pids = set()
        for n, notification in enumerate(received):
            assert notification.payload == f"item {n}" + "." * 7000
            pids.add(notification.pid)
        assert pids == {sender.info.backend_pid}


def test_notification_to_oneself_comes_with_the_commit(connection: psycopg.Connection) -> None:
    connection.execute("listen news")
    with connection.transaction():
        connection.execute("notify news, 'own'")
        assert list(connection.notifies(timeout=0)) == []
    (notification,) = connection.notifies(timeout=PATIENCE_SECONDS, stop_after=1)
    assert (notification.channel, notification.payload) == ("news", "own")


def test_many_sessions_at_once_keep_their_own_answers(dsn: str) -> None:
    async def session(number: int) -> list[int]:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await connection.execute("create temp table mine (n int)")
            for n in range(20):
                await connection.execute("insert into mine values (%s)", (number * 1000 + n,))
            cursor = await connection.execute("select n from mine order by n")
            return [n for (n,) in await cursor.fetchall()]

    async def everyone() -> list[list[int]]:
        return await asyncio.gather(*(session(number) for number in range(40)))

    assert asyncio.run(everyone()) == [[number * 1000 + n for n in range(20)] for number in range(40)]
