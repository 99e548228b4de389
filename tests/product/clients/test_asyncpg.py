"""asyncpg on PostgreSQL itself and through Gavial: binary rows, portals with row limits, introspection."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import io
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from psycopg.conninfo import conninfo_to_dict

pytestmark = pytest.mark.service

PATIENCE_SECONDS = 30

Test = Callable[[Any], Awaitable[None]]


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[Any]:
    """An asyncpg connection; `Any`, because asyncpg carries no types."""
    fields = conninfo_to_dict(dsn)
    connection = await asyncpg.connect(
        host=fields["host"],
        port=int(str(fields["port"])),
        user=fields["user"],
        password=fields.get("password"),
        database=fields["dbname"],
        timeout=PATIENCE_SECONDS,
    )
    try:
        yield connection
    finally:
        await connection.close()


def run(dsn: str, test: Test) -> None:
    """Run one test on one connection; its end checks that the session still answers."""

    async def session() -> None:
        async with connected(dsn) as connection:
            await test(connection)
            assert await connection.fetchval("select 1") == 1

    asyncio.run(session())


def test_execute_returns_the_tag_of_the_last_statement(dsn: str) -> None:
    async def test(connection: Any) -> None:
        assert (
            await connection.execute("create temp table t (n int); insert into t values (1), (2)")
            == "INSERT 0 2"
        )
        assert await connection.execute("update t set n = n + $1", 1) == "UPDATE 2"

    run(dsn, test)


def test_prepared_statement_is_described_and_fetched(dsn: str) -> None:
    async def test(connection: Any) -> None:
        statement = await connection.prepare("select $1::int as n, $2::numeric(10, 2) as d")
        assert [parameter.name for parameter in statement.get_parameters()] == ["int4", "numeric"]
        assert [(field.name, field.type.name) for field in statement.get_attributes()] == [
            ("n", "int4"),
            ("d", "numeric"),
        ]
        for n in range(5):
            assert tuple(await statement.fetchrow(n, decimal.Decimal("1.5"))) == (n, decimal.Decimal("1.50"))
        assert len(await statement.fetch(1, decimal.Decimal(2))) == 1
        assert statement.get_statusmsg() == "SELECT 1"

    run(dsn, test)


def test_statement_cache_survives_a_changed_table(dsn: str) -> None:
    async def test(connection: Any) -> None:
        await connection.execute("create temp table t (n int); insert into t values (1)")
        assert tuple(await connection.fetchrow("select * from t")) == (1,)
        await connection.execute("alter table t add column m text")
        assert tuple(await connection.fetchrow("select * from t")) == (1, None)

    run(dsn, test)


def test_cursor_takes_rows_in_pieces(dsn: str) -> None:
    async def test(connection: Any) -> None:
        async with connection.transaction():
            query = "select generate_series(1, 1000)"
            total = 0
            async for row in connection.cursor(query, prefetch=7):
                total += row[0]
            assert total == 500_500
            cursor = await connection.cursor(query)
            assert [row[0] for row in await cursor.fetch(3)] == [1, 2, 3]
            assert await cursor.forward(500) == 500
            assert (await cursor.fetchrow())[0] == 504

    run(dsn, test)


def test_table_is_copied_in_and_out(dsn: str) -> None:
    lines = b"".join(b"%d\tline %d\n" % (n, n) for n in range(100_000))

    async def test(connection: Any) -> None:
        await connection.execute("create temp table t (n int, line text)")
        assert await connection.copy_to_table("t", source=io.BytesIO(lines)) == "COPY 100000"
        copied = io.BytesIO()
        assert await connection.copy_from_table("t", output=copied) == "COPY 100000"
        assert copied.getvalue() == lines
        records = [(n, "x" * n) for n in range(1000)]
        assert await connection.copy_records_to_table("t", records=records) == "COPY 1000"
        binary = io.BytesIO()
        query = "select * from t limit $1"
        assert await connection.copy_from_query(query, 5, output=binary, format="binary") == "COPY 5"
        assert binary.getvalue().startswith(b"PGCOPY\n\xff\r\n\0")

    run(dsn, test)


def test_copy_refused_by_the_server_leaves_the_session_usable(dsn: str) -> None:
    async def test(connection: Any) -> None:
        await connection.execute("create temp table t (n int)")
        source = io.BytesIO(b"1\n" * 50_000 + b"two\n" + b"3\n" * 500_000)
        with pytest.raises(asyncpg.InvalidTextRepresentationError):
            await connection.copy_to_table("t", source=source)
        assert await connection.fetchval("select count(*) from t") == 0

    run(dsn, test)


def test_listener_hears_another_session(dsn: str) -> None:
    async def test(connection: Any) -> None:
        heard: asyncio.Queue[tuple[int, str, str]] = asyncio.Queue()
        await connection.add_listener(
            "news", lambda _, pid, channel, text: heard.put_nowait((pid, channel, text))
        )
        async with connected(dsn) as sender:
            await sender.execute("notify news, 'first'; notify news, 'second'")
            pid = sender.get_server_pid()
            for text in ("first", "second"):
                assert await asyncio.wait_for(heard.get(), PATIENCE_SECONDS) == (pid, "news", text)
        await connection.reset()

    run(dsn, test)


def test_transactions_nest_and_keep_their_isolation(dsn: str) -> None:
    async def test(connection: Any) -> None:
        await connection.execute("create temp table t (n int)")
        async with connection.transaction(isolation="serializable"):
            assert await connection.fetchval("show transaction_isolation") == "serializable"
            await connection.execute("insert into t values (1)")
            with pytest.raises(asyncpg.DivisionByZeroError):
                async with connection.transaction():
                    await connection.execute("insert into t values (2)")
                    await connection.execute("select 1/0")
        assert [row["n"] for row in await connection.fetch("table t")] == [1]
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            async with connection.transaction(readonly=True):
                await connection.execute("create table never (n int)")

    run(dsn, test)


def test_timeout_of_the_client_cancels_at_the_server(dsn: str) -> None:
    async def test(connection: Any) -> None:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await connection.fetch("select pg_sleep(600)", timeout=0.2)
            assert await connection.fetchval("select 1") == 1
        async with connected(dsn) as watcher:
            query = "select state from pg_stat_activity where pid = $1"
            assert await watcher.fetchval(query, connection.get_server_pid()) == "idle"

    run(dsn, test)


def test_types_of_the_database_are_looked_up(dsn: str) -> None:
    async def test(connection: Any) -> None:
        await connection.execute("""
            create schema looked_up;
            create type looked_up.mood as enum ('glad', 'sad');
            create type looked_up.pair as (n int, feeling looked_up.mood[]);
            create domain looked_up.positive as int check (value > 0)""")
        try:
            query = "select $1::looked_up.pair, $2::looked_up.positive, array[$1, $1]"
            row = await connection.fetchrow(query, (1, ["glad", "sad"]), 7)
            assert tuple(row[0]) == (1, ["glad", "sad"])
            assert (row[1], len(row[2])) == (7, 2)
            await connection.set_type_codec(
                "json", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
            )
            assert await connection.fetchval("select $1::json", {"a": [1]}) == {"a": [1]}
        finally:
            await connection.execute("drop schema looked_up cascade")

    run(dsn, test)


def test_executemany_is_one_transaction(dsn: str) -> None:
    async def test(connection: Any) -> None:
        await connection.execute("create temp table t (n int primary key, u uuid, at timestamptz)")
        moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
        arguments = [(n, uuid.UUID(int=n), moment) for n in range(5000)]
        await connection.executemany("insert into t values ($1, $2, $3)", arguments)
        assert await connection.fetchval("select count(*) from t where at = $1", moment) == 5000
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.executemany("insert into t (n) values ($1)", [(5000,), (5001,), (1,)])
        assert await connection.fetchval("select max(n) from t") == 4999

    run(dsn, test)


def test_notices_and_settings_are_seen(dsn: str) -> None:
    async def test(connection: Any) -> None:
        heard: list[str] = []
        connection.add_log_listener(lambda _, message: heard.append(message.message))
        await connection.execute("do $$ begin raise notice 'one'; raise warning 'two'; end $$")
        assert heard == ["one", "two"]
        await connection.execute("set timezone = 'Europe/Rome'")
        assert connection.get_settings().TimeZone == "Europe/Rome"

    run(dsn, test)


def test_pool_resets_what_it_lends(dsn: str) -> None:
    fields = conninfo_to_dict(dsn)

    async def everyone() -> list[int]:
        async with asyncpg.create_pool(
            host=fields["host"],
            port=int(str(fields["port"])),
            user=fields["user"],
            password=fields.get("password"),
            database=fields["dbname"],
            min_size=2,
            max_size=5,
        ) as pool:

            async def borrow(n: int) -> int:
                async with pool.acquire() as connection:
                    assert await connection.fetchval("show work_mem") != "77kB"
                    await connection.execute("set work_mem = '77kB'")
                    number: int = await connection.fetchval("select $1::int", n)
                    return number

            return await asyncio.gather(*(borrow(n) for n in range(50)))

    assert asyncio.run(everyone()) == list(range(50))
