"""`SHOW gavial.version` wherever a statement may stand: what PostgreSQL answers to SHOW, renamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

from tests.product.clients.ours import OUR_VERSION, OURS, as_ours
from tests.product.clients.programs import postgres_program, run
from tests.product.clients.test_asyncpg import connected
from tests.support.running.servers import Gavial

pytestmark = pytest.mark.service


def described(result: PGresult) -> list[str]:
    """One line for each thing a client can see of a result."""
    lines = [f"{pq.ExecStatus(result.status).name} {(result.command_status or b'').decode()}"]
    if result.status == pq.ExecStatus.FATAL_ERROR:
        fields = (pq.DiagnosticField.SQLSTATE, pq.DiagnosticField.MESSAGE_PRIMARY)
        lines += [(result.error_field(field) or b"").decode() for field in fields]
    for n in range(result.nfields):
        shape = (result.ftype(n), result.fformat(n), result.fsize(n), result.fmod(n))
        origin = (result.ftable(n), result.ftablecol(n))
        lines.append(f"{(result.fname(n) or b'').decode()} {shape} from {origin}")
    for row in range(result.ntuples):
        lines.append(str([result.get_value(row, n) for n in range(result.nfields)]))
    return lines


def simple(pgconn: PGconn, query: str) -> list[str]:
    """Every result of one Query message, and the transaction's state after it."""
    pgconn.send_query(query.encode())
    lines = []
    while (result := pgconn.get_result()) is not None:
        lines += described(result)
        while result.status == pq.ExecStatus.COPY_OUT and (block := pgconn.get_copy_data(0))[0] > 0:
            lines.append(str(bytes(block[1])))
    return [*lines, pq.TransactionStatus(pgconn.transaction_status).name]


def in_a_block(pgconn: PGconn, setting: str) -> list[str]:
    queries = ("begin read only", f"show {setting}", "savepoint s", f"show {setting}", "select 1/0")
    after = (f"show {setting}", "rollback to s", f"show {setting}", "commit", f"show {setting}")
    return [line for query in (*queries, *after) for line in simple(pgconn, query)]


def prepared(pgconn: PGconn, setting: str) -> list[str]:
    lines = described(pgconn.prepare(b"named", f"SHOW {setting}".encode()))
    lines += described(pgconn.describe_prepared(b"named"))
    for form in (pq.Format.TEXT, pq.Format.BINARY, pq.Format.TEXT):
        lines += described(pgconn.exec_prepared(b"named", None, result_format=form))
    pgconn.exec_(b"begin")
    pgconn.exec_(b"select 1/0")
    lines += described(pgconn.exec_prepared(b"named", None))
    pgconn.exec_(b"rollback")
    lines += described(pgconn.close_prepared(b"named"))
    return lines + described(pgconn.exec_prepared(b"named", None))


def parsed(pgconn: PGconn, setting: str) -> list[str]:
    lines = []
    for form in (pq.Format.TEXT, pq.Format.BINARY):
        lines += described(pgconn.exec_params(f"show {setting};".encode(), None, result_format=form))
    return lines + described(pgconn.exec_params(f"show {setting}; select 1".encode(), None))


def pipelined(pgconn: PGconn, setting: str) -> list[str]:
    show = f"show {setting}"
    pgconn.enter_pipeline_mode()
    for query in ("select 1", show, "select 2", show, "select 1/0", show):
        pgconn.send_query_params(query.encode(), None)
    pgconn.pipeline_sync()
    pgconn.send_prepare(b"ours", show.encode())
    for _ in range(3):
        pgconn.send_query_prepared(b"ours", None)
    pgconn.send_describe_prepared(b"ours")
    pgconn.pipeline_sync()
    lines: list[str] = []
    while lines.count("PIPELINE_SYNC ") < 2:
        if (result := pgconn.get_result()) is not None:
            lines += described(result)
    pgconn.exit_pipeline_mode()
    return lines


def spelled(pgconn: PGconn, setting: str) -> list[str]:
    first, _, last = setting.rpartition(".")
    apart = f"{first} /**/ . -- \n {last}" if first else last
    queries = (
        f"SHOW {setting.upper()}",
        f" \n\tshow\t{setting} ; ",
        f";; show/* ; */{setting};;",
        f"-- show\nsHoW -- ' \n{setting.title()} -- show",
        f"/* /* nested */ {'long ' * 200_000} */ show {setting}",
        f"show {apart}",
    )
    return [line for query in queries for line in simple(pgconn, query)]


def of_several(pgconn: PGconn, setting: str) -> list[str]:
    show = f"show {setting}"
    queries = (
        f"{show}; {show}; select 1; {show}",
        f"create temp table t (n int); insert into t values (1); {show}; drop table t; {show}",
        f"begin; {show}; commit; {show}",
        f"insert into nowhere values (1); {show}",
        f"{show}; select 1/0; {show}",
        f"create temp table u as select 1; {show}; copy u to stdout; {show}",
        f"do $$ begin raise notice 'x'; end $$; {show}; do $$ begin raise notice 'y'; end $$",
    )
    return [line for query in queries for line in simple(pgconn, query)]


def under_settings(pgconn: PGconn, setting: str) -> list[str]:
    settings = (
        "client_min_messages = error",
        "search_path = pg_temp",
        "default_transaction_read_only = on",
        "client_encoding = 'SJIS'",
        "statement_timeout = '1h'",
        "role = pg_monitor",
        "session authorization pg_monitor",
    )
    lines = []
    for assignment in settings:
        lines += [*simple(pgconn, f"set {assignment}"), *simple(pgconn, f"show {setting}")]
    return [*lines, *simple(pgconn, "discard all"), *simple(pgconn, f"show {setting}")]


@pytest.mark.parametrize(
    "observe",
    [in_a_block, prepared, parsed, pipelined, spelled, of_several, under_settings],
    ids=lambda observe: observe.__name__,
)
def test_answer_is_that_of_a_setting(
    both: tuple[str, str], observe: Callable[[PGconn, str], list[str]]
) -> None:
    direct, through = both
    with psycopg.connect(direct, autocommit=True) as connection:
        expected = as_ours("\n".join(observe(connection.pgconn, "server_version")), direct)
    with psycopg.connect(through, autocommit=True) as connection:
        assert "\n".join(observe(connection.pgconn, OURS)) == expected
    assert OUR_VERSION in expected


UNTOUCHED = (
    "select 'show gavial.version', $$;show gavial.version;$$, $a$ ; show gavial.version $a$",
    "select E'\\';show gavial.version; '; select 'x'';show gavial.version'",
    "select 1 /* ; show gavial.version */; select 2 -- ; show gavial.version",
    'select 1 as "show gavial.version", 2 as "gavial.version"',
    'create temp table ";show gavial.version;" (n int); drop table ";show gavial.version;"',
    "select U&'\\0027;show gavial.version;'; select B'1', X'1F', N'; show gavial.version'",
    "do $$ begin execute 'show gavial.version'; end $$",
    "prepare p as show gavial.version",
    "declare c cursor for show gavial.version",
    "explain show gavial.version",
    "select (show gavial.version)",
    "create function f() returns text begin atomic; show gavial.version; end",
    "show gavial.versions; select 1",
    "show gavial.version.more",
    "show gavial",
    "set gavial.version to 'mine'; select current_setting('gavial.version'); reset gavial.version",
    "show gavial.version 'unterminated",
    "show gavial.version; select 'unterminated",
)


@pytest.mark.parametrize("query", UNTOUCHED)
def test_text_that_is_not_ours_is_left_alone(both: tuple[str, str], query: str) -> None:
    answers = []
    for dsn in both:
        with psycopg.connect(dsn, autocommit=True) as connection:
            answers.append(simple(connection.pgconn, query))
            answers[-1] += described(connection.pgconn.exec_params(query.encode(), None))
    assert answers[0] == answers[1]


def test_literal_is_read_as_the_server_reads_it(both: tuple[str, str]) -> None:
    answers = []
    for dsn in both:
        with psycopg.connect(dsn, autocommit=True) as connection:
            simple(connection.pgconn, "set standard_conforming_strings = off")
            answers.append(simple(connection.pgconn, "select '\\';show gavial.version; --'"))
            answers.append(simple(connection.pgconn, "select 'show gavial.version'"))
    assert answers[:2] == answers[2:]


def test_data_is_left_alone(both: tuple[str, str]) -> None:
    text = "; show gavial.version; '"
    for dsn in both:
        with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
            assert cursor.execute("select %s || 'x'", (text,)).fetchone() == (text + "x",)
            cursor.execute("create temp table t (t text)")
            with cursor.copy("copy t from stdin") as copy:
                copy.write(f"{text}\n" * 3)
            assert cursor.execute("table t").fetchall() == [(text,)] * 3


def test_position_of_an_error_is_that_in_the_clients_text(both: tuple[str, str]) -> None:
    positions = []
    for dsn in both:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for query in (
                "show gavial.version; select 'ü' from",
                "/* ü */ show gavial.version; select 1 frm t t",
            ):
                with pytest.raises(psycopg.errors.SyntaxError) as refused:
                    connection.execute(query)
                positions.append(refused.value.diag.statement_position)
    assert positions[:2] == positions[2:]


def test_our_statement_through_psycopg(gavial15: Gavial) -> None:
    with psycopg.connect(gavial15.dsn()) as connection:
        for _ in range(8):
            cursor = connection.execute("show gavial.version")
            assert cursor.fetchall() == [(OUR_VERSION,)]
            assert cursor.statusmessage == "SHOW"
        with connection.pipeline():
            cursors = [connection.execute("show gavial.version", prepare=True) for _ in range(5)]
            assert [cursor.fetchone() for cursor in cursors] == [(OUR_VERSION,)] * 5
        with (
            pytest.raises(psycopg.errors.SyntaxError, match='at or near "show"'),
            connection.cursor("server_side") as cursor,
        ):
            cursor.execute("show gavial.version")


async def through_asyncpg(dsn: str, setting: str) -> list[Any]:
    query = f"show {setting}"
    async with connected(dsn) as connection:
        seen = [await connection.execute(query), [dict(row) for row in await connection.fetch(query)]]
        statement = await connection.prepare(query)
        seen.append([(field.name, field.type.name) for field in statement.get_attributes()])
        seen += [await statement.fetchval() for _ in range(3)]
        async with connection.transaction():
            seen.append([row[0] async for row in connection.cursor(query, prefetch=1)])
            cursor = await connection.cursor(query)
            seen += [tuple(row) for row in await cursor.fetch(1)] + [await cursor.fetch(1)]
    return seen


def test_our_statement_through_asyncpg(both: tuple[str, str]) -> None:
    direct, through = both
    expected = as_ours(repr(asyncio.run(through_asyncpg(direct, "server_version"))), direct)
    assert repr(asyncio.run(through_asyncpg(through, OURS))) == expected


def psql_script(setting: str) -> str:
    return f"""
        show {setting};
        select 1 \\; show {setting} \\; select 2;
        show {setting} \\gdesc
        \\set FETCH_COUNT 1
        show {setting};
        begin; select 1/0; show {setting}; rollback;
        \\set ON_ERROR_ROLLBACK on
        begin; select 1/0; show {setting}; commit;
        show {setting} \\g (format=csv)
        """


@pytest.mark.parametrize("major", [15, 18], ids=["psql15", "psql18"])
def test_our_statement_through_psql(both: tuple[str, str], major: int) -> None:
    command = (postgres_program("psql", major), "--no-psqlrc", "--no-align")
    bound = "\nshow {0} \\bind \\g\n\\startpipeline\nshow {0} \\bind \\sendpipeline\n\\endpipeline\n"
    printed = []
    for dsn, setting in zip(both, ("server_version", OURS), strict=True):
        script = psql_script(setting) + (bound.format(setting) if major >= 18 else "")
        done = run(*command, dsn, script=script)
        printed.append(as_ours(done.stdout + done.stderr, both[0]))
    assert printed[0] == printed[1]


@pytest.fixture
def elsewhere(gavial15: Gavial) -> Iterator[str]:
    """A database made after Gavial had started, and a login in it that may do nothing."""
    with psycopg.connect(gavial15.dsn(), autocommit=True) as connection:
        connection.execute("create database elsewhere")
        connection.execute("create role nobody_special login password 'secret'")
        yield gavial15.dsn(dbname="elsewhere", user="nobody_special", password="secret")
        connection.execute("drop database elsewhere with (force)")
        connection.execute("drop role nobody_special")


def test_answer_is_there_for_any_login_in_any_database(elsewhere: str) -> None:
    with psycopg.connect(elsewhere) as connection:
        assert connection.execute("show gavial.version").fetchall() == [(OUR_VERSION,)]


def test_replication_commands_are_left_alone(both: tuple[str, str]) -> None:
    answers = []
    for dsn in both:
        with psycopg.connect(dsn, replication="database", autocommit=True) as connection:
            answers.append(simple(connection.pgconn, "SHOW gavial.version"))
    assert answers[0] == answers[1]
