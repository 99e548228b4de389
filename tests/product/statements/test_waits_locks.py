"""Statements of ours that wait for locks of other sessions say for whose, and end."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial
from tests.support.running.standing_databases import session
from tests.support.running.waiting_client import counted_rows, waiting

pytestmark = pytest.mark.service

STATEMENTS = {
    "DROP STANDING QUERY q": "SELECT to_regclass('q') IS NULL",
    "ALTER STANDING QUERY q RENAME TO r": "SELECT to_regclass('r') IS NOT NULL",
    "ALTER STANDING QUERY q SET SCHEMA s": "SELECT to_regclass('s.q') IS NOT NULL",
    "ALTER STANDING QUERY q OWNER TO owner_of_q": "SELECT relowner = 'owner_of_q'::regrole FROM pg_class "
    "WHERE oid = 'q'::regclass",
    "CREATE OR REPLACE STANDING QUERY q AS SELECT a, b FROM t WITH NO DATA": "SELECT count(*) = 2 "
    "FROM pg_attribute WHERE attrelid = 'q'::regclass AND attnum > 0",
}


@pytest.fixture(scope="module")
def proxy(postgres15: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres15) as running:
        yield running


@pytest.fixture(scope="module")
def dsn(proxy: Gavial) -> Iterator[str]:
    with counted_rows(proxy) as made:
        with session(made) as user:
            user.execute("CREATE SCHEMA s; CREATE ROLE owner_of_q; GRANT SELECT ON t TO owner_of_q")
            user.execute("GRANT ALL ON SCHEMA public TO owner_of_q")
        yield made
        with session(made) as user:
            user.execute("DROP OWNED BY owner_of_q; DROP ROLE owner_of_q")


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with session(dsn) as connection:
        yield connection
        connection.execute("DROP STANDING QUERY IF EXISTS q; DROP STANDING QUERY IF EXISTS r")
        connection.execute("DROP STANDING QUERY IF EXISTS s.q")


def says_who(dsn: str, statement: str, other: psycopg.Connection, detail: str) -> None:
    """It names the session that is in its way, and gives up after lock_timeout."""
    blocker = f"process {other.info.backend_pid} of postgres (someone else), in a transaction since "
    with waiting(dsn, statement, "lock_timeout = '2500ms'") as waits:
        message, told, hint = waits.wait_for_notice(f"waiting for {blocker}")
        assert detail in told
        assert f"pg_terminate_backend({other.info.backend_pid})" in hint
        error = waits.error()
    assert error.sqlstate == "55P03"
    assert error.message == message.replace("waiting for", "gave up waiting for")
    assert error.detail == told


def ends_when_unlocked(dsn: str, statement: str, other: psycopg.Connection) -> None:
    with waiting(dsn, statement) as waits:
        waits.wait_for_notice(f"waiting for process {other.info.backend_pid} of ")
        other.execute("COMMIT")
        waits.ends_well()


@pytest.mark.parametrize("name", ["t", "v", "below"])
def test_create_waits_for_who_has_locked_what_it_reads(dsn: str, user: psycopg.Connection, name: str) -> None:
    user.execute(
        "CREATE OR REPLACE VIEW v AS SELECT a FROM t; CREATE OR REPLACE VIEW below AS SELECT a FROM v"
    )
    create = f"CREATE STANDING QUERY of_locked AS SELECT a FROM {name} WHERE a < 3"
    with session(dsn) as other:
        other.execute("SET application_name = 'someone else'; BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        says_who(dsn, create, other, "Table public.t is to be read, and process")
        assert one(user, "SELECT to_regclass('of_locked')") is None
        ends_when_unlocked(dsn, create, other)
    assert one(user, "SELECT count(*) FROM of_locked") == 2
    assert one(user, "SHOW lock_timeout") == "0"
    user.execute("DROP STANDING QUERY of_locked")


def test_create_waits_for_a_table_while_who_has_it_waits_for_a_lock(
    dsn: str, user: psycopg.Connection
) -> None:
    """Behind somebody who waits for a table others queue."""
    with session(dsn) as reader:
        reader.execute("BEGIN; SELECT count(*) FROM t")
        with waiting(dsn, "ALTER TABLE t ADD COLUMN c int") as altering:
            queued = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 't'::regclass AND NOT granted)"
            while not one(user, queued):
                pass
            with waiting(dsn, "CREATE STANDING QUERY late AS SELECT a FROM t WHERE a < 3") as waits:
                waits.wait_for_notice(f"waiting for process {altering.connection.info.backend_pid} of ")
                reader.execute("COMMIT")
                altering.ends_well()
                waits.ends_well()
    user.execute("DROP STANDING QUERY late")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_changing_a_query_waits_for_who_reads_its_result(
    dsn: str, user: psycopg.Connection, statement: str
) -> None:
    user.execute("CREATE STANDING QUERY q AS SELECT a FROM t")
    with session(dsn) as other:
        other.execute("SET application_name = 'someone else'; BEGIN; SELECT count(*) FROM q")
        says_who(dsn, statement, other, "Table public.q has to be locked, and process")
        assert not one(user, STATEMENTS[statement])
        ends_when_unlocked(dsn, statement, other)
    assert one(user, STATEMENTS[statement])


def test_create_and_drop_wait_for_an_open_create(dsn: str, user: psycopg.Connection) -> None:
    user.execute("CREATE STANDING QUERY q AS SELECT a FROM t")
    detail = "Standing queries are created, changed and dropped one after the other, and process"
    with session(dsn) as other:
        other.execute("SET application_name = 'someone else'; BEGIN")
        other.execute("CREATE STANDING QUERY p AS SELECT b FROM t")
        for statement in ("CREATE STANDING QUERY r AS SELECT a FROM t", "DROP STANDING QUERY q"):
            says_who(dsn, statement, other, detail)
        ends_when_unlocked(dsn, "DROP STANDING QUERY q", other)
    user.execute("DROP STANDING QUERY p")
