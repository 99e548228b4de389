"""Who may do what to standing queries; nothing of ours lends its rights to anybody (G22, G23, G24)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database, refused, session, statuses, traces

pytestmark = pytest.mark.service

SETUP = """
    CREATE ROLE mallory LOGIN PASSWORD 'mallory';
    CREATE ROLE alice LOGIN PASSWORD 'alice';
    GRANT CREATE ON SCHEMA public TO mallory, alice;
    GRANT CREATE ON DATABASE {database} TO mallory;
    CREATE SCHEMA hidden;
    GRANT USAGE ON SCHEMA hidden TO mallory;
    CREATE TABLE hidden.secret (a int, b text);
    INSERT INTO hidden.secret VALUES (1, 'canary');
    CREATE TABLE open (a int PRIMARY KEY, b int, c int);
    GRANT SELECT (a, b) ON open TO mallory, alice;
"""


@pytest.fixture(scope="module", params=[15, 18])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    proxy: Gavial = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as dsn, session(dsn) as admin:
        admin.execute(SETUP.format(database=admin.info.dbname))
        yield dsn
        admin.execute("DROP OWNED BY mallory, alice CASCADE")
        admin.execute("DROP ROLE mallory, alice")


@pytest.fixture
def admin(database: str) -> Iterator[psycopg.Connection]:
    with session(database) as connection:
        connection.execute("DROP TABLE IF EXISTS victim")
        connection.execute("GRANT SELECT (a, b) ON open TO mallory, alice")
        with session(database, "alice") as alice:
            alice.execute("CREATE OR REPLACE STANDING QUERY victim AS SELECT a, b FROM open")
        yield connection


@pytest.fixture
def mallory(database: str, admin: psycopg.Connection) -> Iterator[psycopg.Connection]:
    before = traces(admin)
    with session(database, "mallory") as connection:
        yield connection
    admin.execute("DROP OWNED BY mallory CASCADE")
    admin.execute(f"GRANT CREATE ON DATABASE {admin.info.dbname} TO mallory")
    admin.execute("GRANT USAGE ON SCHEMA hidden TO mallory; GRANT CREATE ON SCHEMA public TO mallory")
    admin.execute("GRANT SELECT (a, b) ON open TO mallory")
    after = traces(admin)
    for kind in ("queries", "reads", "identities", "published", "sources", "requests", "installation"):
        assert after[kind] == before[kind], kind


@pytest.mark.parametrize(
    ("select", "table"),
    [
        ("SELECT * FROM hidden.secret", "secret"),
        ("SELECT a FROM open WHERE EXISTS (SELECT FROM hidden.secret)", "secret"),
        ("SELECT a FROM open UNION ALL SELECT a FROM hidden.secret", "secret"),
        ("WITH s AS (SELECT * FROM hidden.secret) SELECT count(*) FROM s", "secret"),
        ("SELECT c FROM open", "open"),
        ("SELECT a FROM open WHERE c > 0", "open"),
        ("SELECT * FROM open", "open"),
        ("SELECT a FROM open ORDER BY c LIMIT 1", "open"),
    ],
)
@pytest.mark.parametrize("verb", ["CREATE STANDING QUERY q", "EXPLAIN CREATE STANDING QUERY q"])
def test_nobody_reads_more_through_a_query(
    mallory: psycopg.Connection, verb: str, select: str, table: str
) -> None:
    """G22: what PostgreSQL would not show its creator is not made."""
    directly = refused(mallory, select)
    assert (directly.sqlstate, directly.message) == ("42501", f"permission denied for table {table}")
    assert refused(mallory, f"{verb} AS {select}") == directly


STATEMENTS = (
    "CREATE OR REPLACE STANDING QUERY victim AS SELECT a, b FROM open",
    "ALTER STANDING QUERY victim SET (FINAL_WORK = 0.5)",
    "ALTER STANDING QUERY victim RESET (FINAL_WORK)",
    "ALTER STANDING QUERY victim SUSPEND",
    "ALTER STANDING QUERY victim RESUME",
    "ALTER STANDING QUERY victim RENAME TO mine",
    "ALTER STANDING QUERY victim OWNER TO mallory",
    "ALTER STANDING QUERY victim OWNER TO CURRENT_USER",
    "ALTER STANDING QUERY victim SET SCHEMA pg_catalog",
    "DROP STANDING QUERY victim",
    "DROP STANDING QUERY IF EXISTS nothing, victim CASCADE",
    "REFRESH STANDING QUERY victim",
    "VERIFY STANDING QUERY victim",
    "COMMENT ON STANDING QUERY victim IS 'mine'",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_queries_of_others_are_out_of_reach(mallory: psycopg.Connection, statement: str) -> None:
    assert refused(mallory, statement).sqlstate == "42501"


def test_an_answer_is_its_owners_to_grant(database: str, mallory: psycopg.Connection) -> None:
    assert refused(mallory, "TABLE victim").sqlstate == "42501"
    assert refused(mallory, 'TABLE gavial_views."standing query public.victim"').sqlstate == "42501"
    with session(database, "alice") as alice:
        alice.execute("GRANT SELECT ON victim TO mallory")
    assert mallory.execute("TABLE victim").fetchall() == []


VICTIM = "'victim'::regclass::oid"
VIEW = "'gavial_views.\"standing query public.victim\"'::regclass::oid"
INTO = "INSERT INTO gavial.requests (kind, result, view, arguments) VALUES"
FORGED = (
    f"{INTO} ('forget', {VICTIM}, NULL, NULL)",
    f"{INTO} ('suspend', {VICTIM}, NULL, NULL)",
    f"{INTO} ('resume', {VICTIM}, NULL, NULL)",
    f"{INTO} ('options', {VICTIM}, NULL, '{{\"set\": {{}}, \"reset\": []}}')",
    f"{INTO} ('register', {VICTIM}, {VIEW}, '{{}}')",
    f"{INTO} ('register', {VICTIM}, 'bait'::regclass::oid, '{{}}')",
    f"{INTO} ('register', 'bait_table'::regclass::oid, {VIEW}, '{{}}')",
    f"{INTO} ('register', 4000000000, 4000000001, '{{}}')",
    f"{INTO} ('register', 'bait_table'::regclass::oid, 4000000001, '{{}}')",
    f"{INTO} ('register', 4000000000, 'bait'::regclass::oid, '{{}}')",
    f"{INTO} ('forget', 4000000000, NULL, NULL)",
    "SELECT gavial.enrol('hidden.secret'::regclass)",
    "SELECT gavial.dismiss()",
    f"SELECT gavial.forget({VICTIM})",
    f"SELECT gavial.suspend({VICTIM})",
    f"SELECT gavial.resume({VICTIM})",
    f"SELECT gavial.change_options({VICTIM}, '{{}}')",
    f"SELECT gavial.register({VIEW}, {VICTIM}, '{{}}')",
    "DELETE FROM gavial.queries",
    "UPDATE gavial.queries SET options = '{}'",
    "INSERT INTO gavial.reads SELECT id, 'hidden.secret'::regclass FROM gavial.queries",
    "INSERT INTO gavial.refusals VALUES ('a', 'b', 'c', 'd')",
    "UPDATE gavial.turn SET number = 0",
    "TABLE gavial.requests",
    "UPDATE gavial.installation SET id = DEFAULT",
    "ALTER PUBLICATION gavial ADD TABLE bait_table",
    "ALTER VIEW gavial.standing_queries OWNER TO mallory",
    "CREATE TABLE gavial.mine ()",
    "DROP VIEW " + VIEW.split("'")[1],
)


@pytest.mark.parametrize("statement", FORGED)
def test_nothing_can_be_forged(mallory: psycopg.Connection, statement: str) -> None:
    """G23: what runs with its owner's rights cannot be called, or refuses what the caller does not own."""
    mallory.execute("CREATE VIEW bait AS SELECT a FROM open; CREATE TABLE bait_table (a int)")
    assert refused(mallory, statement).sqlstate == "42501"


@pytest.mark.parametrize(
    ("view", "result", "sqlstate"),
    [
        ("CREATE VIEW v AS SELECT * FROM hidden.secret", "CREATE TABLE r (a int, b text)", "42501"),
        ("CREATE VIEW v AS SELECT random()", "CREATE TABLE r (random float8)", "0A000"),
        ("CREATE VIEW v AS SELECT a FROM open", "CREATE TEMP TABLE r (a int)", "42809"),
        ("CREATE TEMP VIEW v AS SELECT a FROM open", "CREATE TABLE r (a int)", "42809"),
        ("CREATE VIEW v AS SELECT a FROM open", "CREATE VIEW r AS SELECT 1 AS a", "42809"),
        ("CREATE TABLE v (a int)", "CREATE TABLE r (a int)", "42809"),
        ("CREATE VIEW v AS SELECT a FROM open", "CREATE SEQUENCE r", "42809"),
    ],
)
def test_what_is_registered_by_hand_keeps_the_rules(
    mallory: psycopg.Connection, view: str, result: str, sqlstate: str
) -> None:
    mallory.execute(f"{view}; {result}")
    arguments = json.dumps({"query_text": "x", "settings": {}, "options": {}})
    forged = f"{INTO} ('register', 'r'::regclass::oid, 'v'::regclass::oid, '{arguments}')"
    assert refused(mallory, forged).sqlstate == sqlstate


@pytest.mark.parametrize("share", ['"boom"', '"1e-400"', "0", "2", "-1", "{}"])
def test_forged_options_do_not_spoil_what_all_read(mallory: psycopg.Connection, share: str) -> None:
    mallory.execute("CREATE STANDING QUERY q AS SELECT a FROM open")
    change = f'{{"kind": "options", "set": {{"FINAL_WORK": {share}}}, "reset": []}}'
    request = f'[{{"kind": "alter", "as_written": "q", "change": {change}}}]'
    for forged in (
        f"{INTO} ('options', 'q'::regclass::oid, NULL, '{change}')",
        f"CALL gavial.perform('{request}', 'ALTER STANDING QUERY')",
    ):
        assert refused(mallory, forged).sqlstate[:2] in ("22", "23")
    assert len(statuses(mallory)) == 2


LENT = """
    CREATE FUNCTION lent() RETURNS int LANGUAGE plpgsql {rights} AS $$
    BEGIN
        {act};
        RETURN 1;
    END $$
"""
ACTS = (
    f"{INTO} ('forget', {VICTIM}, NULL, NULL)",
    f"{INTO} ('suspend', {VICTIM}, NULL, NULL)",
    'CALL gavial.perform(\'[{"kind": "drop", "as_written": "victim"}]\', \'x\')',
)


@pytest.mark.parametrize("act", ACTS)
def test_a_function_of_a_lesser_role_gains_nothing_from_its_caller(
    admin: psycopg.Connection, mallory: psycopg.Connection, act: str
) -> None:
    """A superuser that runs a function with its owner's rights does not lend his own."""
    mallory.execute(LENT.format(rights="SECURITY DEFINER", act=act))
    assert refused(admin, "SELECT lent()").sqlstate == "42501"


def test_neither_does_one_in_an_index_that_a_superuser_maintains(
    admin: psycopg.Connection, mallory: psycopg.Connection
) -> None:
    """What ANALYZE and REINDEX evaluate runs as the table's owner."""
    mallory.execute(
        f"""
        CREATE TABLE trap (a int); INSERT INTO trap VALUES (1);
        CREATE FUNCTION lent(a int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a';
        CREATE INDEX trap_index ON trap (lent(a));
        CREATE FUNCTION act() RETURNS void LANGUAGE sql AS $$
            {INTO} ('forget', {VICTIM.replace("victim", "public.victim")}, NULL, NULL) $$;
        CREATE OR REPLACE FUNCTION lent(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN PERFORM public.act(); RETURN a; END $$
        """
    )
    assert refused(admin, "ANALYZE trap").sqlstate == "42501"
    assert refused(admin, "REINDEX TABLE trap").sqlstate == "42501"


def test_a_set_role_is_obeyed(database: str, admin: psycopg.Connection) -> None:
    """The current role counts, not the one that logged in."""
    with session(database) as connection:
        connection.execute("SET ROLE mallory")
        for statement in STATEMENTS:
            assert refused(connection, statement).sqlstate == "42501"
        connection.execute("RESET ROLE; SET SESSION AUTHORIZATION mallory")
        assert refused(connection, "DROP STANDING QUERY victim").sqlstate == "42501"
        connection.execute("RESET SESSION AUTHORIZATION; SET ROLE alice")
        connection.execute("ALTER STANDING QUERY victim SUSPEND")
    assert statuses(admin)["public.victim"] == ("suspended", None)


NAMESAKES = """
    CREATE SCHEMA trap;
    GRANT USAGE ON SCHEMA trap TO PUBLIC;
    CREATE TABLE trap.caught (who text, what text);
    GRANT INSERT ON trap.caught TO PUBLIC;
    CREATE FUNCTION trap.sprung(what text) RETURNS void LANGUAGE sql AS $$
        INSERT INTO trap.caught VALUES (current_user, what) $$;
    CREATE FUNCTION trap.to_regclass(text) RETURNS regclass LANGUAGE plpgsql AS $$
        BEGIN PERFORM trap.sprung('to_regclass'); RETURN pg_catalog.to_regclass($1); END $$;
    CREATE FUNCTION trap.current_setting(text) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN PERFORM trap.sprung('current_setting'); RETURN pg_catalog.current_setting($1); END $$;
    CREATE FUNCTION trap.pg_has_role(oid, text) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN PERFORM trap.sprung('pg_has_role'); RETURN true; END $$;
    CREATE FUNCTION trap.is_null(jsonb, text) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN PERFORM trap.sprung('->>'); RETURN $1 OPERATOR(pg_catalog.->>) $2; END $$;
    CREATE OPERATOR trap.->> (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = trap.is_null);
    CREATE FUNCTION trap.equal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN PERFORM trap.sprung('='); RETURN $1 OPERATOR(pg_catalog.=) $2; END $$;
    CREATE OPERATOR trap.= (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.equal);
    CREATE FUNCTION trap.less(int, int) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN PERFORM trap.sprung('<='); RETURN $1 OPERATOR(pg_catalog.<=) $2; END $$;
    CREATE OPERATOR trap.<= (LEFTARG = int, RIGHTARG = int, FUNCTION = trap.less);
    CREATE FUNCTION trap.plus(int, int) RETURNS int LANGUAGE plpgsql AS $$
        BEGIN PERFORM trap.sprung('+'); RETURN $1 OPERATOR(pg_catalog.+) $2; END $$;
    CREATE OPERATOR trap.+ (LEFTARG = int, RIGHTARG = int, FUNCTION = trap.plus);
    CREATE TABLE trap.pg_class (oid oid); CREATE TABLE trap.pg_settings (name text, setting text);
"""
EVERYTHING = (
    "CREATE STANDING QUERY public.tried AS SELECT a FROM public.open",
    "CREATE OR REPLACE STANDING QUERY public.tried AS SELECT a FROM public.open WITH (FINAL_WORK = 0.5)",
    "ALTER STANDING QUERY public.tried SET (MAX_PACE = 7)",
    "ALTER STANDING QUERY public.tried SUSPEND",
    "ALTER STANDING QUERY public.tried RESUME",
    "ALTER STANDING QUERY public.tried RENAME TO tried_again",
    "COMMENT ON STANDING QUERY public.tried_again IS 'x'",
    "SHOW STANDING QUERIES",
    "SHOW STANDING QUERY public.tried_again",
    "EXPLAIN STANDING QUERY public.tried_again",
    "EXPLAIN CREATE STANDING QUERY x AS SELECT a FROM public.open",
    "ALTER TABLE public.tried_again RENAME TO tried",
    "DROP STANDING QUERY public.tried",
)


def test_nothing_of_a_search_path_is_run(
    admin: psycopg.Connection, mallory: psycopg.Connection, database: str
) -> None:
    """Functions, operators and tables named as PostgreSQL's own, in a schema that comes first."""
    mallory.execute(NAMESAKES)
    with session(database) as connection:
        connection.execute("SET search_path = trap, pg_catalog, public")
        for statement in EVERYTHING:
            connection.execute(statement.encode())
    assert admin.execute("TABLE trap.caught").fetchall() == []


NAMES = (
    'a"b',
    "a'b",
    "a''; DROP TABLE open; --",
    'x"; DROP TABLE open; --',
    "$$; DROP TABLE open; $$",
    "$gavial$",
    "a\\b\\",
    "\\'; DROP TABLE open; --",
    "line\nbreak",
    "a.b",
    "/*gavial:5*/ ",
    "gavial:7",
    "\u0001\u007f",
    "ünïcödé ☃ \U0001f40a",
    "%s %I %L %%",
    "{0} %(a)s",
    "SELECT",
    " ",
    "x" * 63,
    "é" * 31,
    "\\u0000",
)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize("name", NAMES)
def test_names_are_only_names(mallory: psycopg.Connection, name: str) -> None:
    """G24: whatever a name says, it is one everywhere."""
    schema, column = quoted(name), quoted(name)
    mallory.execute(f"CREATE SCHEMA {schema}".encode())
    query = f"{schema}.{quoted(name)}"
    for statement in (
        f"CREATE STANDING QUERY {query} ({column}) AS SELECT a FROM open WITH (TRIGGER = 'on demand')",
        f"CREATE OR REPLACE STANDING QUERY {query} ({column}, b) AS SELECT a, b FROM open",
        f"ALTER STANDING QUERY {query} RENAME TO other",
        f"ALTER STANDING QUERY {schema}.other RENAME TO {quoted(name)}",
        f"COMMENT ON STANDING QUERY {query} IS '{name.replace(chr(39), chr(39) * 2)}'",
        f"EXPLAIN (FORMAT JSON) STANDING QUERY {query}",
        f"SHOW STANDING QUERY {query}",
    ):
        mallory.execute(statement.encode())
    found = mallory.execute(
        "SELECT schema_name, name, obj_description(table_oid, 'pg_class') "
        "FROM gavial.standing_queries WHERE owner = 'mallory'"
    )
    assert found.fetchall() == [(name, name, name)]
    mallory.execute(f"DROP STANDING QUERY {query}".encode())
    assert list(statuses(mallory)) == ["public.victim"]


@pytest.mark.parametrize("literal", NAMES)
def test_literals_are_only_literals(mallory: psycopg.Connection, literal: str) -> None:
    constant = "'" + literal.replace("'", "''") + "'"
    mallory.execute(f"CREATE STANDING QUERY q AS SELECT a, {constant} AS t FROM open".encode())
    found = mallory.execute("SELECT query_text FROM gavial.standing_queries WHERE name = 'q'").fetchone()
    assert found == (f"SELECT a, {constant} AS t FROM open",)
    hidden = mallory.execute(
        'SELECT t FROM gavial_views."standing query public.q" RIGHT JOIN (SELECT 1) x ON true'
    ).fetchall()
    assert hidden == [(None,)]
    for option in ("TRIGGER", "EXPECT", "METHOD", "MEMORY_BUDGET", "LATENCY_GOAL"):
        statement = f"ALTER STANDING QUERY q SET ({option} = {constant})"
        assert refused(mallory, statement).sqlstate == "22023"


def test_marks_raised_by_users_are_theirs(mallory: psycopg.Connection) -> None:
    """A notice or an error that looks like ours, raised by anybody else, reaches the client as it is."""
    seen: list[tuple[str | None, str | None]] = []
    mallory.add_notice_handler(lambda notice: seen.append((notice.sqlstate, notice.message_primary)))
    mallory.execute("SHOW STANDING QUERIES")
    done = mallory.execute(
        "DO $$BEGIN RAISE NOTICE USING ERRCODE = 'GV001', MESSAGE = 'guess', DETAIL = 'DROP DATABASE'; END$$"
    )
    assert (done.statusmessage, seen) == ("DO", [("GV001", "guess")])


def test_an_answer_is_written_by_nobody(admin: psycopg.Connection, mallory: psycopg.Connection) -> None:
    """Not by its owner, nor with the setting by which Gavial announces that it publishes."""
    mallory.execute("CREATE STANDING QUERY q AS SELECT a FROM open")
    mallory.execute("SELECT set_config('gavial.publishing', 'q'::regclass::oid::text, false)")
    assert refused(mallory, "INSERT INTO q VALUES (1)").sqlstate == "42809"
    mallory.execute("ALTER TABLE q DISABLE TRIGGER gavial_guard")
    assert statuses(admin)["public.q"] == ("error", "42809")
