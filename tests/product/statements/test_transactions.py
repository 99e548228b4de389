"""Statements of ours in transactions of every kind happen or leave no trace, as PostgreSQL's DDL (G12)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg
import psycopg
import pytest
from psycopg import pq

from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import (
    Refused,
    fresh_database,
    refused,
    session,
    statuses,
    traces,
)

pytestmark = pytest.mark.service

TABLES = """
    CREATE TABLE keyed (id int PRIMARY KEY, a int, t text);
    CREATE TABLE keyless (a int, b int);
    CREATE TABLE named (id int NOT NULL, a int);
    CREATE UNIQUE INDEX named_id ON named (id);
    ALTER TABLE named REPLICA IDENTITY USING INDEX named_id;
    CREATE TABLE silent (a int);
    ALTER TABLE silent REPLICA IDENTITY NOTHING;
    CREATE TABLE parted (a int, b int) PARTITION BY LIST (a);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
    CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) PARTITION BY LIST (b);
    CREATE TABLE parted_2_1 PARTITION OF parted_2 FOR VALUES IN (1);
    CREATE VIEW below AS SELECT a, b FROM keyless;
"""
MAKING = (
    "CREATE STANDING QUERY q AS SELECT id, a FROM keyed",
    "CREATE STANDING QUERY q AS SELECT * FROM keyless",
    "CREATE STANDING QUERY q AS SELECT n.a, s.a AS b FROM named n JOIN silent s USING (a)",
    "CREATE STANDING QUERY q (x) AS SELECT count(*) FROM parted WITH (TRIGGER = 'every 5 minutes')",
    "CREATE STANDING QUERY IF NOT EXISTS q WITH (FINAL_WORK = 0.1) AS SELECT * FROM below WITH NO DATA",
)
CHANGING = (
    "CREATE OR REPLACE STANDING QUERY old AS SELECT id, a, t FROM keyed",
    "CREATE OR REPLACE STANDING QUERY old AS SELECT a AS id, b AS a FROM keyless",
    "ALTER STANDING QUERY old SET (FINAL_WORK = 0.5, MAX_PACE = 3)",
    "ALTER STANDING QUERY old RESET (TRIGGER)",
    "ALTER STANDING QUERY old SUSPEND",
    "ALTER STANDING QUERY old SUSPEND; ALTER STANDING QUERY old RESUME; COMMENT ON STANDING QUERY old IS 'x'",
    "ALTER STANDING QUERY old RENAME TO young",
    "ALTER STANDING QUERY old SET SCHEMA elsewhere",
    "ALTER STANDING QUERY old OWNER TO pg_read_all_data",
    "COMMENT ON STANDING QUERY old IS 'of old'",
    "DROP STANDING QUERY old",
    "DROP STANDING QUERY old, older CASCADE",
    "DROP TABLE old",
    "DROP TABLE keyless CASCADE",
    "DROP TABLE keyed CASCADE",
    "ALTER TABLE old RENAME TO young",
    "CREATE TABLE child () INHERITS (keyed)",
    "ALTER TABLE old DISABLE TRIGGER gavial_guard",
)


@pytest.fixture(scope="module", params=[15, 18])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    proxy: Gavial = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as dsn:
        with session(dsn) as admin:
            admin.execute(TABLES)
            admin.execute("CREATE SCHEMA elsewhere")
            admin.execute("CREATE STANDING QUERY old AS SELECT id, a FROM keyed WITH (TRIGGER = 'at 06:00')")
            admin.execute("CREATE STANDING QUERY older AS SELECT a FROM keyless")
            admin.execute("GRANT SELECT ON old TO PUBLIC")
        yield dsn


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection]:
    """A session of which nothing may remain."""
    with session(database) as connection:
        before = traces(connection)
        yield connection
        assert traces(connection) == before


def check_gone(connection: psycopg.Connection, before: dict[str, list[str]]) -> None:
    after = traces(connection)
    for kind, seen in before.items():
        assert after[kind] == seen, kind


@pytest.mark.parametrize("statement", MAKING + CHANGING)
def test_rolled_back(connection: psycopg.Connection, statement: str) -> None:
    before = traces(connection)
    connection.execute("BEGIN")
    connection.execute(statement.encode())
    changed = traces(connection)
    assert changed != before
    connection.execute("ROLLBACK")
    check_gone(connection, before)


@pytest.mark.parametrize("statement", MAKING)
def test_dropped_again(connection: psycopg.Connection, statement: str) -> None:
    """What CREATE changed on the tables it reads, DROP gives back."""
    before = traces(connection)
    connection.execute(statement.encode())
    connection.execute("DROP STANDING QUERY q")
    check_gone(connection, before)
    connection.execute(statement.encode())
    connection.execute("DROP TABLE q")
    check_gone(connection, before)


@pytest.mark.parametrize("statement", MAKING + CHANGING)
def test_savepoint(connection: psycopg.Connection, statement: str) -> None:
    before = traces(connection)
    connection.execute("BEGIN; CREATE STANDING QUERY first AS SELECT b FROM keyless; SAVEPOINT s")
    inside = traces(connection)
    connection.execute(statement.encode())
    connection.execute("ROLLBACK TO s")
    check_gone(connection, inside)
    connection.execute(statement.encode())
    connection.execute("RELEASE s; ROLLBACK")
    check_gone(connection, before)


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("statement", MAKING)
def test_after_an_earlier_statement(connection: psycopg.Connection, level: str, statement: str) -> None:
    connection.execute(f"BEGIN ISOLATION LEVEL {level}".encode())
    connection.execute("SELECT count(*) FROM keyless")
    connection.execute(statement.encode())
    assert connection.execute("SELECT status FROM gavial.standing_queries WHERE name = 'q'").fetchone()
    connection.execute("ALTER STANDING QUERY q SUSPEND")
    connection.execute("COMMIT")
    assert statuses(connection)["public.q"] == ("suspended", None)
    connection.execute("DROP STANDING QUERY q")


def test_tables_of_the_same_transaction(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN; CREATE TABLE new (a int); INSERT INTO new VALUES (1)")
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM new")
    connection.execute("UPDATE new SET a = 2; COMMIT")
    connection.execute("UPDATE new SET a = 3")
    connection.execute("DROP TABLE new CASCADE")


def test_a_string_of_statements_is_one_transaction(connection: psycopg.Connection) -> None:
    for failing in (
        "INSERT INTO silent VALUES (1); CREATE STANDING QUERY old AS SELECT 1; TABLE silent",
        "INSERT INTO silent VALUES (1); CREATE STANDING QUERY q AS SELECT nope; TABLE silent",
        "CREATE STANDING QUERY q AS SELECT 1; INSERT INTO silent VALUES (1); DROP STANDING QUERY none",
        "CREATE STANDING QUERY q AS SELECT a FROM keyless; SELECT 1/0",
        "DROP STANDING QUERY old; SELECT 1/0",
        "ALTER STANDING QUERY old SUSPEND; CREATE STANDING QUERY q WITH (nothing = 1) AS SELECT 1",
    ):
        before = traces(connection)
        refused(connection, failing)
        check_gone(connection, before)
        assert connection.execute("SELECT count(*) FROM silent").fetchone() == (0,)


def test_two_phases(connection: psycopg.Connection) -> None:
    for end in ("ROLLBACK PREPARED 'p'", "COMMIT PREPARED 'p'"):
        connection.execute("BEGIN; CREATE STANDING QUERY q AS SELECT a FROM keyless WHERE a > 1")
        connection.execute("PREPARE TRANSACTION 'p'")
        assert "public.q" not in statuses(connection)
        connection.execute(end.encode())
    connection.execute("DROP STANDING QUERY q")


@pytest.mark.parametrize("statement", [*MAKING, *CHANGING[:10]])
@pytest.mark.parametrize(
    "begin", ["BEGIN READ ONLY", "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE"]
)
def test_read_only(connection: psycopg.Connection, begin: str, statement: str) -> None:
    connection.execute(begin.encode())
    failed = refused(connection, statement)
    assert failed.sqlstate == "25006"
    assert failed.message.startswith("cannot execute ")
    assert failed.message.endswith(" in a read-only transaction")
    assert refused(connection, statement).sqlstate == "25P02"
    connection.execute("ROLLBACK")
    connection.execute(begin.encode())
    connection.execute("SHOW STANDING QUERIES")
    connection.execute("SHOW STANDING QUERY old")
    connection.execute("EXPLAIN STANDING QUERY old")
    connection.execute("ROLLBACK")


def test_a_failed_transaction(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN")
    refused(connection, "SELECT 1/0")
    directly = refused(connection, "CREATE VIEW v AS SELECT 1")
    for statement in (*MAKING, "DROP STANDING QUERY old", "SHOW STANDING QUERIES", "CREATE STANDING QUERY"):
        assert refused(connection, statement) == directly
    connection.execute("ROLLBACK")


def test_prepared_statements_run_again(connection: psycopg.Connection) -> None:
    pgconn = connection.pgconn
    for name, statement in (
        (b"make", b"CREATE STANDING QUERY q AS SELECT a FROM keyless"),
        (b"drop", b"DROP STANDING QUERY q"),
        (b"look", b"SHOW STANDING QUERIES"),
    ):
        assert pgconn.prepare(name, statement).status == pq.ExecStatus.COMMAND_OK
        described = pgconn.describe_prepared(name)
        assert described.nparams == 0
        assert described.nfields == (11 if name == b"look" else 0)
    for _ in range(6):
        assert pgconn.exec_prepared(b"make", None).command_status == b"CREATE STANDING QUERY"
        again = pgconn.exec_prepared(b"make", None)
        assert again.error_field(pq.DiagnosticField.SQLSTATE) == b"42P07"
        assert pgconn.exec_prepared(b"look", None).ntuples == 3
        assert pgconn.exec_prepared(b"drop", None).command_status == b"DROP STANDING QUERY"


def test_pipelines(connection: psycopg.Connection) -> None:
    with connection.pipeline() as pipeline:
        made = connection.execute("CREATE STANDING QUERY q AS SELECT a FROM keyless")
        seen = connection.execute("SELECT count(*) FROM gavial.standing_queries")
        pipeline.sync()
        assert (made.statusmessage, seen.fetchone()) == ("CREATE STANDING QUERY", (3,))
        dropped = connection.execute("DROP STANDING QUERY q")
        pipeline.sync()
        assert dropped.statusmessage == "DROP STANDING QUERY"
    before = traces(connection)
    with pytest.raises(psycopg.errors.DivisionByZero), connection.pipeline():
        connection.execute("CREATE STANDING QUERY q AS SELECT a FROM keyless")
        connection.execute("SELECT 1/0")
        connection.execute("DROP STANDING QUERY old")
    check_gone(connection, before)


def test_transactions_of_psycopg(database: str, connection: psycopg.Connection) -> None:
    with psycopg.connect(database) as other:
        with other.transaction():
            other.execute("CREATE STANDING QUERY q AS SELECT a FROM keyless")
            with pytest.raises(psycopg.errors.DuplicateTable), other.transaction():
                other.execute("CREATE STANDING QUERY q AS SELECT a FROM keyless")
            with other.transaction(force_rollback=True):
                other.execute("DROP STANDING QUERY q")
        assert "public.q" in statuses(connection)
        other.execute("DROP STANDING QUERY q")
        other.commit()


@pytest.mark.usefixtures("connection")
def test_transactions_of_asyncpg(database: str) -> None:
    async def use() -> list[str]:
        other = await asyncpg.connect(database)
        said = [await other.execute("CREATE STANDING QUERY q AS SELECT a FROM keyless")]
        transaction = other.transaction(isolation="repeatable_read")
        await transaction.start()
        said.append(await other.execute("ALTER STANDING QUERY q SUSPEND"))
        statement = await other.prepare("DROP STANDING QUERY q")
        said += [str(await statement.fetch()), statement.get_statusmsg(), str(statement.get_attributes())]
        await transaction.rollback()
        try:
            async with other.transaction():
                await other.execute("DROP STANDING QUERY q")
                async with other.transaction():
                    await other.execute("CREATE STANDING QUERY q AS SELECT nothing FROM keyless")
        except asyncpg.UndefinedColumnError as error:
            said += [str(error.sqlstate), str(error.position)]
        said.append(await other.execute("DROP STANDING QUERY q; SELECT 1"))
        await other.close()
        return said

    altered, dropped = "ALTER STANDING QUERY", "DROP STANDING QUERY"
    expected = ["CREATE STANDING QUERY", altered, "[]", dropped, "()", "42703", "35", "SELECT 1"]
    assert asyncio.run(use()) == expected


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ("SET search_path = elsewhere, public", "elsewhere.q"),
        ("SET search_path = nowhere, elsewhere, public", "elsewhere.q"),
        ("SET search_path = '$user', public", "public.q"),
        ("SET search_path = pg_temp, elsewhere", None),
        ("SET search_path = ''", "3F000"),
        ("SET search_path = nowhere", "3F000"),
    ],
)
def test_where_it_is_made(connection: psycopg.Connection, settings: str, place: str | None) -> None:
    connection.execute(settings.encode())
    statement = "CREATE STANDING QUERY q AS SELECT a FROM public.keyless"
    if place == "3F000":
        directly = refused(connection, "CREATE TABLE q AS SELECT a FROM public.keyless")
        assert refused(connection, statement) == directly
    elif place is None:
        assert refused(connection, statement).sqlstate == "42P16"
    else:
        connection.execute(statement.encode())
        assert place in statuses(connection)
        connection.execute("DROP STANDING QUERY q")
    connection.execute("RESET search_path")


def test_what_the_settings_mean_is_kept(connection: psycopg.Connection) -> None:
    connection.execute("SET TimeZone = 'Asia/Kathmandu'; SET DateStyle = 'German'")
    connection.execute("SET search_path = elsewhere, public")
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM keyless")
    kept = connection.execute("SELECT settings FROM gavial.standing_queries WHERE name = 'q'").fetchone()
    assert kept is not None
    assert (kept[0]["TimeZone"], kept[0]["DateStyle"]) == ("Asia/Kathmandu", "German, DMY")
    assert kept[0]["search_path"] == "elsewhere, public"
    connection.execute("DROP STANDING QUERY q; RESET ALL")


def test_strings_with_escapes_are_left_to_the_server(connection: psycopg.Connection) -> None:
    """Where a backslash may hide a quote nothing is read as ours: PostgreSQL's own answer."""
    connection.execute("SET standard_conforming_strings = off")
    failed = refused(connection, "CREATE STANDING QUERY q AS SELECT '\\n'")
    assert failed == Refused("42601", 'syntax error at or near "STANDING"', 8)
    connection.execute("RESET standard_conforming_strings")


def test_a_role_that_is_set_is_the_owner(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN")
    connection.execute(
        "CREATE ROLE maker; GRANT CREATE ON SCHEMA public TO maker; GRANT SELECT ON keyless TO maker"
    )
    for become, back in (
        ("SET ROLE maker", "RESET ROLE"),
        ("SET SESSION AUTHORIZATION maker", "RESET SESSION AUTHORIZATION"),
    ):
        connection.execute(become.encode())
        connection.execute("CREATE STANDING QUERY q AS SELECT a FROM keyless")
        found = connection.execute("SELECT owner FROM gavial.standing_queries WHERE name = 'q'").fetchone()
        assert found == ("maker",)
        connection.execute("DROP STANDING QUERY q")
        connection.execute(back.encode())
    connection.execute("ROLLBACK")
