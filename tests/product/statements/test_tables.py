"""The table of an answer, what depends on it, and what becomes of a query when tables change (G12, G22)."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database, refused, session, statuses, traces

pytestmark = pytest.mark.service

TABLES = """
    CREATE TABLE base (id int PRIMARY KEY, a numeric(8,2), b varchar(5) COLLATE "C", c char(3));
    CREATE TABLE plain (a int, b text);
    INSERT INTO base VALUES (1, 1.5, 'x', 'y');
"""


@pytest.fixture(params=[15, 18])
def connection(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    proxy: Gavial = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as dsn, session(dsn) as connection:
        connection.execute(TABLES)
        yield connection


EXPRESSIONS = (
    *(
        "1",
        "NULL::numeric(5,1)",
        "'x'::varchar(3)",
        "'x'",
        "a",
        "a * 2",
        "b",
        "b || c",
        "c",
        "id",
        "true",
        "id > 1",
    ),
    *(
        "'2020-01-01'::date",
        "'1 day'::interval day to second",
        "'1 day 02:03:04.567'::interval hour to minute",
        "'10:00'::time(2)",
        "ARRAY[id]",
        "NULL",
        "1.5",
    ),
    *(
        "'{}'::jsonb",
        "'\\x00'::bytea",
        "id::int2",
        "id::float4",
        "coalesce(b, 'y')",
        "ARRAY['x'::varchar(2)]",
    ),
)


def test_its_columns_are_a_views(connection: psycopg.Connection) -> None:
    """Names, types, modifiers and collations, for any select list."""
    described = """
        SELECT attname, format_type(atttypid, atttypmod), attcollation FROM pg_attribute
        WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum
    """

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=8))
    def check(expressions: list[str]) -> None:
        select = ", ".join(f'{expression} AS "Column {n}"' for n, expression in enumerate(expressions))
        connection.execute(f"CREATE VIEW v AS SELECT {select} FROM base".encode())
        connection.execute(f"CREATE STANDING QUERY q AS SELECT {select} FROM base".encode())
        views, ours = (connection.execute(described, (name,)).fetchall() for name in ("v", "q"))
        assert ours == views
        connection.execute("DROP VIEW v; DROP STANDING QUERY q")

    check()


def test_constants_that_postgresql_finishes_keep_their_types(connection: psycopg.Connection) -> None:
    """An interval with fields, whose type has no name that a schema could stand before."""
    select = "SELECT id, '1 day 02:03:04.567'::interval day to minute AS i, NULL::numeric(5,1) AS n FROM base"
    connection.execute(f"CREATE STANDING QUERY q AS {select}".encode())
    types = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'q'::regclass"
    found = {type for (type,) in connection.execute(types)}
    assert {"interval day to minute", "numeric(5,1)"} < found


def test_it_is_a_table_like_others(connection: psycopg.Connection) -> None:
    connection.execute("CREATE STANDING QUERY q AS SELECT id, a FROM base")
    connection.execute("CREATE INDEX q_id ON q (id); COMMENT ON COLUMN q.a IS 'x'; ANALYZE q")
    connection.execute("CREATE ROLE reader; GRANT SELECT ON q TO reader; SET ROLE reader")
    assert connection.execute("SELECT q.id FROM q").fetchall() == []
    connection.execute("RESET ROLE")
    assert connection.execute("SELECT b.id, q.a FROM base b LEFT JOIN q USING (id)").fetchall() == [(1, None)]
    connection.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_replacing_keeps_what_hangs_on_it(connection: psycopg.Connection) -> None:
    state = "SELECT 'q'::regclass::oid, relacl::text FROM pg_class WHERE oid = 'q'::regclass"
    connection.execute("CREATE STANDING QUERY q AS SELECT id, a FROM base")
    connection.execute("GRANT SELECT ON q TO PUBLIC; CREATE VIEW on_top AS SELECT id FROM q")
    before = connection.execute(state).fetchall()
    identity = connection.execute("SELECT id FROM gavial.standing_queries").fetchall()
    connection.execute("CREATE OR REPLACE STANDING QUERY q AS SELECT id, a, b FROM base WHERE a > 1")
    assert connection.execute(state).fetchall() == before
    assert connection.execute("SELECT id FROM gavial.standing_queries").fetchall() == identity
    assert connection.execute("TABLE on_top").fetchall() == []
    for select, words in (
        ("id FROM base", 'cannot drop column "a" of standing query public.q'),
        ("a, id, b FROM base", 'cannot change name of column "id" of standing query public.q to "a"'),
        ("id::text, a, b FROM base", 'cannot change type of column "id" of standing query public.q from '),
    ):
        connection.execute("CREATE OR REPLACE VIEW v AS SELECT id, a, b FROM base")
        directly = refused(connection, f"CREATE OR REPLACE VIEW v AS SELECT {select}")
        ours = refused(connection, f"CREATE OR REPLACE STANDING QUERY q AS SELECT {select}")
        assert ours.sqlstate == directly.sqlstate
        assert ours.message.startswith(words)


def test_reading_other_tables_after_a_replacement(connection: psycopg.Connection) -> None:
    before = traces(connection)
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM plain")
    connection.execute("CREATE OR REPLACE STANDING QUERY q AS SELECT id AS a FROM base")
    read = connection.execute("SELECT prrelid::regclass::text FROM pg_publication_rel").fetchall()
    assert read == [("base",)]
    connection.execute("DROP STANDING QUERY q")
    assert traces(connection) == before


@pytest.mark.parametrize(
    "drop",
    [
        "DROP TABLE plain CASCADE",
        "DROP TABLE q",
        "DROP STANDING QUERY q",
        "DROP SCHEMA apart CASCADE",
        "DROP TABLE q, plain CASCADE",
        'DROP VIEW gavial_views."standing query public.q" CASCADE',
    ],
)
def test_dropping_takes_everything_along(connection: psycopg.Connection, drop: str) -> None:
    if "apart" in drop:
        connection.execute(
            "CREATE SCHEMA apart; ALTER TABLE plain SET SCHEMA apart; SET search_path = public, apart"
        )
    connection.execute("CREATE STANDING QUERY q AS SELECT a, b FROM plain")
    connection.execute(drop.encode())
    after = traces(connection)
    for kind in ("queries", "reads", "identities", "published", "sources"):
        assert after[kind] == [], kind
    views = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'gavial_views'::regnamespace"
    )
    assert views.fetchall() == []
    assert connection.execute("SELECT to_regclass('q')").fetchone() == (None,)
    identity = connection.execute(
        "SELECT relreplident::text FROM pg_class WHERE relname = 'plain'"
    ).fetchall()
    assert identity in ([], [("d",)])


def test_a_table_in_use_is_not_dropped(connection: psycopg.Connection) -> None:
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM plain")
    failed = refused(connection, "DROP TABLE plain")
    assert failed.sqlstate == "2BP01"
    assert "gavial_views" not in failed.detail
    assert failed.detail.startswith("standing query public.q depends on ")
    failed = refused(connection, "ALTER TABLE plain ALTER COLUMN a TYPE bigint")
    assert (failed.sqlstate, failed.message) == (
        "0A000",
        "cannot alter type of a column used by a view or rule",
    )
    assert failed.detail == 'standing query public.q depends on column "a"'
    assert refused(connection, "ALTER TABLE plain DROP COLUMN a").sqlstate == "2BP01"
    # Also in a session that has never sent a statement of Gavial's.
    with psycopg.connect(connection.info.dsn, password=connection.info.password, autocommit=True) as other:
        assert refused(other, "DROP TABLE plain").detail == failed.detail.replace('column "a"', "table plain")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("ALTER TABLE plain RENAME TO renamed", ("initialising", None)),
        ("ALTER TABLE plain RENAME COLUMN a TO renamed", ("initialising", None)),
        ("ALTER TABLE plain ADD COLUMN c int DEFAULT 5", ("initialising", None)),
        ("ALTER TABLE plain DROP COLUMN b", ("initialising", None)),
        ("ALTER TABLE plain SET SCHEMA gavial_views", ("initialising", None)),
        ("CREATE TABLE child () INHERITS (plain)", ("error", "0A000")),
        ("CREATE TABLE child (a int, b text); ALTER TABLE child INHERIT plain", ("error", "0A000")),
        ("ALTER TABLE q ADD COLUMN c int", ("error", "42809")),
        ("ALTER TABLE q RENAME COLUMN a TO c", ("error", "42809")),
        ("ALTER TABLE q DISABLE TRIGGER ALL", ("error", "42809")),
        ("ALTER TABLE q ADD COLUMN c int; ALTER TABLE q DROP COLUMN c", ("initialising", None)),
        ("ALTER TABLE q RENAME COLUMN a TO c; ALTER TABLE q RENAME COLUMN c TO a", ("initialising", None)),
        ("ALTER TABLE q DISABLE TRIGGER ALL; ALTER TABLE q ENABLE TRIGGER ALL", ("initialising", None)),
        ("DROP TRIGGER gavial_guard ON q", ("error", "42809")),
        ("CREATE INDEX ON q (a)", ("initialising", None)),
    ],
)
def test_what_is_said_of_changes(
    connection: psycopg.Connection, change: str, status: tuple[str, str | None]
) -> None:
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM plain")
    connection.execute(change.encode())
    assert statuses(connection) == {"public.q": status}


def test_published_tables_stay_logged(connection: psycopg.Connection) -> None:
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM plain")
    failed = refused(connection, "ALTER TABLE plain SET UNLOGGED")
    assert failed.message == 'cannot change table "plain" to unlogged because it is part of a publication'


def test_loss_of_a_right_suspends(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN; CREATE ROLE owner_of_q; GRANT SELECT ON plain TO owner_of_q")
    connection.execute("GRANT CREATE ON SCHEMA public TO owner_of_q; SET ROLE owner_of_q")
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM plain")
    connection.execute("RESET ROLE; REVOKE SELECT ON plain FROM owner_of_q")
    assert statuses(connection) == {"public.q": ("suspended", "42501")}
    connection.execute("SAVEPOINT s")
    assert refused(connection, "ALTER STANDING QUERY q RESUME").sqlstate == "42501"
    connection.execute("ROLLBACK TO s; GRANT SELECT ON plain TO owner_of_q")
    connection.execute("ALTER STANDING QUERY q RESUME; ALTER TABLE plain ENABLE ROW LEVEL SECURITY")
    assert statuses(connection) == {"public.q": ("error", "0A000")}
    connection.execute("ROLLBACK")


def test_a_renamed_table_is_still_the_query(connection: psycopg.Connection) -> None:
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM plain; CREATE SCHEMA apart")
    connection.execute("ALTER TABLE q RENAME TO r; ALTER TABLE r SET SCHEMA apart")
    assert statuses(connection) == {"apart.r": ("initialising", None)}
    connection.execute("ALTER STANDING QUERY apart.r SET SCHEMA public")
    connection.execute("CREATE STANDING QUERY q AS SELECT b FROM plain")
    connection.execute("DROP STANDING QUERY r, q")


def test_a_new_owner_must_be_able_to_read(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN; CREATE ROLE blind; CREATE ROLE seeing; GRANT SELECT ON plain TO seeing")
    connection.execute("CREATE STANDING QUERY q AS SELECT a FROM plain; SAVEPOINT s")
    assert refused(connection, "ALTER STANDING QUERY q OWNER TO blind").sqlstate == "42501"
    connection.execute("ROLLBACK TO s; ALTER STANDING QUERY q OWNER TO seeing")
    owners = connection.execute(
        "SELECT relowner::regrole::text FROM pg_class WHERE relname IN ('q', 'standing query public.q')"
    )
    assert owners.fetchall() == [("seeing",)] * 2
    connection.execute("ROLLBACK")


def test_the_view_follows_the_owner_of_the_table(connection: psycopg.Connection) -> None:
    """G22: whoever owns the answer, it holds what that role may read."""
    connection.execute("BEGIN; CREATE ROLE blind; CREATE STANDING QUERY q AS SELECT a FROM plain")
    connection.execute("ALTER TABLE q OWNER TO blind")
    owners = connection.execute(
        "SELECT relowner::regrole::text FROM pg_class WHERE relname IN ('q', 'standing query public.q')"
    )
    assert owners.fetchall() == [("blind",)] * 2
    assert statuses(connection) == {"public.q": ("suspended", "42501")}
    connection.execute("ROLLBACK")
