"""A database with standing queries is dumped and restored; there they wait to be resumed (G12, G4)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.product.clients.programs import postgres_program, run
from tests.support.running.servers import Gavial, Server
from tests.support.running.standing_databases import fresh_database, refused, session, statuses

pytestmark = pytest.mark.service

FILLED = """
    CREATE ROLE keeper;
    GRANT CREATE ON SCHEMA public TO keeper;
    CREATE TABLE keyed (id int PRIMARY KEY, a numeric(10,2));
    CREATE TABLE keyless (a int, t text COLLATE "C");
    CREATE SCHEMA odd; ALTER SCHEMA odd RENAME TO "Odd ""one"" 1";
    INSERT INTO keyed VALUES (1, 1.5); INSERT INTO keyless VALUES (1, 'x');
    GRANT SELECT ON keyed, keyless TO keeper;
    SET ROLE keeper;
"""
QUERIES = (
    "CREATE STANDING QUERY sums AS SELECT sum(a) AS total FROM keyed WITH (FINAL_WORK = 0.5)",
    "RESET ROLE",
    'CREATE STANDING QUERY "Odd ""one"" 1"."A.b" AS '
    "SELECT k.a, l.t FROM keyed k LEFT JOIN keyless l ON k.id = l.a",
    "GRANT SELECT ON sums TO PUBLIC",
    "COMMENT ON STANDING QUERY sums IS 'of all'",
    "CREATE INDEX sums_total ON sums (total)",
    "CREATE VIEW on_top AS SELECT total FROM sums",
    "ALTER STANDING QUERY sums SUSPEND",
)

SAME = """
    SELECT owner, options, settings, query_text, obj_description(table_oid), pg_get_viewdef(view_oid),
           (SELECT relacl FROM pg_class WHERE oid = table_oid)
    FROM gavial.standing_queries ORDER BY name
"""


class Ends:
    """A server, Gavial in front of it, and a database with standing queries."""

    def __init__(self, server: Server, proxy: Gavial, dsn: str) -> None:
        self.server = server
        self.proxy = proxy
        self.dsn = dsn
        self.direct = server.dsn(dbname=conninfo_to_dict(dsn)["dbname"])

    def program(self, name: str) -> str:
        return postgres_program(name, self.server.major)


def write_answer(connection: psycopg.Connection) -> None:
    """As if it had been published."""
    connection.execute("BEGIN; SELECT set_config('gavial.publishing', 'sums'::regclass::oid::text, true)")
    connection.execute("INSERT INTO sums VALUES (1.5); COMMIT")


@pytest.fixture(params=[15, 18], scope="module")
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    server = request.getfixturevalue(f"postgres{request.param}")
    proxy = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as dsn, session(dsn) as connection:
        connection.execute(FILLED)
        for statement in QUERIES:
            connection.execute(statement.encode())
        write_answer(connection)
        yield Ends(server, proxy, dsn)
        connection.execute("DROP OWNED BY keeper CASCADE; DROP ROLE keeper")


@contextmanager
def empty_database(ends: Ends) -> Iterator[str]:
    with psycopg.connect(ends.server.dsn(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE restored TEMPLATE template0")
        try:
            yield "restored"
        finally:
            admin.execute("DROP DATABASE restored WITH (FORCE)")


def check_restored(ends: Ends, name: str) -> None:
    odd = '"Odd ""one"" 1"."A.b"'
    with session(ends.proxy.dsn(dbname=name)) as connection:
        waiting = {'Odd "one" 1.A.b': ("suspended", "55000"), "public.sums": ("suspended", "55000")}
        assert statuses(connection) == waiting
        assert (
            connection.execute("TABLE sums").fetchall() == connection.execute("TABLE on_top").fetchall() != []
        )
        assert refused(connection, "DELETE FROM sums").sqlstate == "42809"
        with session(ends.dsn) as original:
            assert connection.execute(SAME).fetchall() == original.execute(SAME).fetchall()

        connection.execute(f"ALTER STANDING QUERY {odd} RESUME".encode())
        after = {'Odd "one" 1.A.b': ("initialising", None), "public.sums": ("suspended", "55000")}
        assert statuses(connection) == after
        connection.execute("ALTER STANDING QUERY sums RESUME")
        assert statuses(connection)["public.sums"] == ("initialising", None)
        connection.execute("UPDATE keyless SET t = 'y'")
        connection.execute("CREATE STANDING QUERY later AS SELECT a FROM keyed")
        connection.execute(f"DROP STANDING QUERY {odd}, later".encode())
        published = connection.execute("SELECT prrelid::regclass::text FROM pg_publication_rel").fetchall()
        assert published == [("keyed",)]
        identity = connection.execute("SELECT relreplident::text FROM pg_class WHERE relname = 'keyless'")
        assert identity.fetchone() == ("d",)
        connection.execute("DROP TABLE keyed CASCADE")
        assert statuses(connection) == {}


@pytest.mark.parametrize("through", [False, True], ids=["direct", "through"])
def test_plain(ends: Ends, tmp_path: Path, through: bool) -> None:
    dumped = tmp_path / "dump.sql"
    source = ends.dsn if through else ends.direct
    run(ends.program("pg_dump"), "--file", dumped, source)
    with empty_database(ends) as restored:
        target = (ends.proxy if through else ends.server).dsn(dbname=restored)
        run(ends.program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file", dumped, target)
        check_restored(ends, restored)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("through", [False, True], ids=["direct", "through"])
def test_custom(ends: Ends, tmp_path: Path, through: bool, jobs: int) -> None:
    archive = tmp_path / "archive"
    source = ends.dsn if through else ends.direct
    run(ends.program("pg_dump"), "--format=custom", "--file", archive, source)
    with empty_database(ends) as restored:
        target = (ends.proxy if through else ends.server).dsn(dbname=restored)
        run(ends.program("pg_restore"), "--exit-on-error", f"--jobs={jobs}", "--dbname", target, archive)
        check_restored(ends, restored)


def test_a_copied_database_waits_as_well(ends: Ends) -> None:
    with psycopg.connect(ends.server.dsn(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE original TEMPLATE template0")
        try:
            archive = run(ends.program("pg_dump"), ends.direct).stdout
            run(
                ends.program("psql"),
                "--no-psqlrc",
                "--quiet",
                ends.server.dsn(dbname="original"),
                script=archive,
            )
            admin.execute("CREATE DATABASE copied TEMPLATE original")
            check_restored(ends, "copied")
        finally:
            admin.execute("DROP DATABASE IF EXISTS copied WITH (FORCE)")
            admin.execute("DROP DATABASE IF EXISTS original WITH (FORCE)")


def test_what_is_restored_over_it_is_refused_or_whole(ends: Ends, tmp_path: Path) -> None:
    """`pg_restore --clean` into the database it came from."""
    archive = tmp_path / "archive"
    with fresh_database(ends.proxy) as dsn:
        with session(dsn) as connection:
            connection.execute("CREATE TABLE t (a int); CREATE STANDING QUERY q AS SELECT a FROM t")
            name = connection.info.dbname
        target = ends.server.dsn(dbname=name)
        run(ends.program("pg_dump"), "--format=custom", "--file", archive, target)
        run(
            ends.program("pg_restore"),
            "--clean",
            "--if-exists",
            "--exit-on-error",
            "--dbname",
            target,
            archive,
        )
        with session(dsn) as connection:
            assert statuses(connection) == {"public.q": ("initialising", None)}
            connection.execute("DROP STANDING QUERY q")
