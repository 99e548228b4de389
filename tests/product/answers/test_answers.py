"""Standing queries as users have them: whatever is done to them and to what they read (G1, G7, G22)."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.answers.answering import (
    ANSWER_SECONDS,
    ask,
    check,
    differences,
    ended,
    make,
    node_files,
    refresh,
    refused_refresh,
    status_of,
    wait_until_answered,
)
from tests.support.capture.databases import one, rows_of, wait_until_followed
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="module")
def dsn(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    """In a schema of the test's own."""
    with session(dsn) as connection:
        connection.execute("CREATE SCHEMA s; SET search_path = s")
        yield connection
        connection.execute("DROP SCHEMA s CASCADE")


def test_an_error_in_data_keeps_the_answer_and_heals(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 2)")
    make(user, "q", "SELECT a, 10 / b AS n FROM t")
    assert rows_of(user, "TABLE q") == {(1, 5): 1}
    user.execute("INSERT INTO t VALUES (2, 0)")
    failed = refused_refresh(user, "q")
    assert (failed.sqlstate, failed.message) == ("22012", "division by zero")
    assert status_of(user, "q") == ("error", "22012", "division by zero")
    assert rows_of(user, "TABLE q") == {(1, 5): 1}
    user.execute("UPDATE t SET b = 5 WHERE a = 2")
    wait_until(lambda: status_of(user, "q")[0] == "active", "it does not heal by itself")
    check(user, "q")
    assert rows_of(user, "TABLE q") == {(1, 5): 1, (2, 2): 1}


def test_two_rows_from_a_scalar_subquery(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE u (b int); INSERT INTO t VALUES (1), (2)")
    make(user, "q", "SELECT a, (SELECT b FROM u WHERE b >= a) AS b FROM t")
    user.execute("INSERT INTO u VALUES (1)")
    check(user, "q")
    user.execute("INSERT INTO u VALUES (5)")
    assert refused_refresh(user, "q").sqlstate == "21000"
    assert rows_of(user, "TABLE q") == {(1, 1): 1, (2, None): 1}
    user.execute("DELETE FROM u WHERE b = 1")
    check(user, "q")
    assert rows_of(user, "TABLE q") == {(1, 5): 1, (2, 5): 1}


def test_a_sum_that_overflows(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2147483647), (2, 1)")
    make(user, "q", "SELECT a, b + 1 - 1 AS c FROM t WHERE a > 1")
    user.execute("UPDATE t SET a = 3 WHERE a = 1")
    assert refused_refresh(user, "q").sqlstate == "22003"
    user.execute("UPDATE t SET a = 0 WHERE a = 3")
    check(user, "q")


def test_an_error_before_the_first_answer(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (0), (1)")
    user.execute("CREATE STANDING QUERY q AS SELECT 1 / a AS n FROM t WITH NO DATA")
    wait_until(lambda: status_of(user, "q")[:2] == ("error", "22012"), "no error", ANSWER_SECONDS)
    user.execute("DELETE FROM t WHERE a = 0")
    wait_until_answered(user, ["q"])
    check(user, "q")


def test_an_error_that_was_taken_back_is_none(user: psycopg.Connection) -> None:
    """The history of a table is older than the queries that read it."""
    user.execute("CREATE TABLE t (a int PRIMARY KEY)")
    make(user, "q", "SELECT a FROM t")
    user.execute("INSERT INTO t VALUES (0), (1)")
    user.execute("DELETE FROM t WHERE a = 0")
    make(user, "r", "SELECT 1 / a AS n FROM t")
    user.execute("INSERT INTO t VALUES (0), (-1)")
    user.execute("DELETE FROM t WHERE a = 0")
    check(user, "q", "r")


def test_replaced_while_it_runs(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE t (a int PRIMARY KEY, b int); "
        "INSERT INTO t SELECT g, g % 3 FROM generate_series(1, 50) g"
    )
    make(user, "q", "SELECT b, count(*) AS n FROM t GROUP BY b")
    user.execute("CREATE VIEW dependent AS SELECT sum(n) AS n FROM q; CREATE INDEX ON q (b)")
    user.execute("UPDATE t SET b = 7 WHERE a < 5")
    ask(user, "refresh", "q")
    user.execute("CREATE OR REPLACE STANDING QUERY q AS SELECT b, sum(a) AS n FROM t GROUP BY b WITH NO DATA")
    wait_until_answered(user, ["q"])
    check(user, "q")
    assert one(user, "SELECT n FROM dependent") == sum(range(51))
    user.execute(
        "CREATE OR REPLACE STANDING QUERY q AS "
        "SELECT b, sum(a) AS n, max(a) AS m FROM t GROUP BY b WITH NO DATA"
    )
    wait_until_answered(user, ["q"])
    check(user, "q")


def test_suspended_forged_and_resumed(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (1), (2)")
    make(user, "q", "SELECT a FROM t")
    user.execute("ALTER STANDING QUERY q SUSPEND")
    assert refused_refresh(user, "q").sqlstate == "55000"
    [run] = ask(user, "verify", "q")
    assert ended(user, run).sqlstate == "55000"
    user.execute(
        "SET session_replication_role = replica; DELETE FROM q WHERE a = 2; INSERT INTO q VALUES (1), (9)"
    )
    user.execute("RESET session_replication_role; INSERT INTO t VALUES (3)")
    user.execute("ALTER STANDING QUERY q RESUME")
    wait_until_answered(user, ["q"])
    check(user, "q")
    assert rows_of(user, "TABLE q") == {(1,): 2, (2,): 1, (3,): 1}


def test_a_forged_answer_is_told(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
    make(user, "q", "SELECT a FROM t")
    user.execute(
        "SET session_replication_role = replica; UPDATE q SET a = 5 WHERE a = 2; "
        "RESET session_replication_role"
    )
    assert sorted(differences(user, "q")) == [("q", "missing", "(2)", 1), ("q", "superfluous", "(5)", 1)]
    user.execute("DELETE FROM t WHERE a = 2")
    assert refused_refresh(user, "q").sqlstate == "55000"
    assert status_of(user, "q")[:2] == ("suspended", "55000")
    user.execute("ALTER STANDING QUERY q RESUME")
    wait_until_answered(user, ["q"])
    check(user, "q")


def test_a_result_that_was_altered_and_altered_back_is_filled_again(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 1), (2, NULL)")
    make(user, "q", "SELECT a, b FROM t")
    user.execute("ALTER TABLE q DROP COLUMN b")
    assert refused_refresh(user, "q").sqlstate == "42809"
    assert status_of(user, "q")[:2] == ("error", "42809")
    user.execute("ALTER TABLE q ADD COLUMN b int; INSERT INTO t VALUES (3, 3)")
    check(user, "q")
    assert rows_of(user, "TABLE q") == {(1, 1): 1, (2, None): 1, (3, 3): 1}


def test_what_a_dropped_query_leaves(proxy: Gavial, user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE t (a int, b int); INSERT INTO t SELECT g, g % 7 FROM generate_series(1, 500) g"
    )
    before = node_files(proxy.data)
    make(user, "q", "SELECT b, count(*) AS n, min(a) AS a FROM t GROUP BY b")
    make(user, "other", "SELECT a FROM t")
    assert len(node_files(proxy.data)) > len(before)
    user.execute("UPDATE t SET b = 8 WHERE b = 1")
    ask(user, "refresh", "q")
    user.execute("DROP STANDING QUERY q")
    user.execute("DROP STANDING QUERY other")
    wait_until(lambda: node_files(proxy.data) == before, "files stay")
    known = "SELECT count(*) FROM gavial.batches WHERE buffer LIKE 'node-%'"
    assert one(user, known) == 0
    for table in ("offsets", "plans", "runs"):
        assert one(user, f"SELECT count(*) FROM gavial.{table}") == 0, table


def test_a_lost_right_suspends(dsn: str, user: psycopg.Connection) -> None:
    user.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'; GRANT USAGE, CREATE ON SCHEMA s TO reader")
    try:
        user.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1); GRANT SELECT ON t TO reader")
        with session(dsn, "reader") as reader:
            reader.execute("SET search_path = s")
            reader.execute("CREATE STANDING QUERY q AS SELECT a FROM t WITH NO DATA")
        wait_until_answered(user, ["q"])
        # As it is where no event trigger could be made.
        user.execute("ALTER EVENT TRIGGER gavial_change DISABLE; REVOKE SELECT ON t FROM reader")
        user.execute("INSERT INTO t VALUES (2)")
        failed = refused_refresh(user, "q")
        assert (failed.sqlstate, failed.message) == ("42501", "permission denied for table t")
        assert status_of(user, "q")[:2] == ("suspended", "42501")
        assert rows_of(user, "TABLE q") == {(1,): 1}
        user.execute("GRANT SELECT ON t TO reader; ALTER STANDING QUERY q RESUME")
        wait_until_answered(user, ["q"])
        check(user, "q")
    finally:
        user.execute("ALTER EVENT TRIGGER gavial_change ENABLE; DROP OWNED BY reader; DROP ROLE reader")


def test_truncate(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE TABLE u (a int)")
    user.execute(
        "INSERT INTO t SELECT g, g % 5 FROM generate_series(1, 40) g; INSERT INTO u VALUES (1), (2), (2)"
    )
    make(user, "q", "SELECT b, count(*) AS n FROM t JOIN u USING (a) GROUP BY b")
    make(user, "r", "SELECT count(*) AS n FROM t")
    user.execute("BEGIN; INSERT INTO u VALUES (3); TRUNCATE t; INSERT INTO t VALUES (2, 9); COMMIT")
    check(user, "q", "r")
    assert rows_of(user, "TABLE q") == {(9, 2): 1}
    user.execute("TRUNCATE t, u")
    check(user, "q", "r")
    assert rows_of(user, "TABLE r") == {(0,): 1}


def test_duplicates_without_a_key(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int, b text)")
    make(user, "q", "SELECT b, a FROM t")
    user.execute("INSERT INTO t SELECT g % 2, CASE WHEN g % 3 > 0 THEN 'x' END FROM generate_series(1, 60) g")
    check(user, "q")
    user.execute(
        "DELETE FROM t WHERE ctid IN (SELECT ctid FROM t ORDER BY a, b LIMIT 7); "
        "UPDATE t SET b = 'y' WHERE a = 1"
    )
    check(user, "q")
    user.execute("UPDATE t SET b = b; DELETE FROM t WHERE b IS NULL")
    check(user, "q")


def test_a_constraint_that_a_plan_rests_on_goes(user: psycopg.Connection) -> None:
    """Without it keys are no keys, and parents may come after their children (D21's traps)."""
    user.execute(
        "CREATE TABLE p (a int PRIMARY KEY, b int); CREATE TABLE c (a int REFERENCES p, n int); "
        "INSERT INTO p VALUES (1, 10), (2, 20); INSERT INTO c VALUES (1, 1), (2, 2), (2, 3)"
    )
    make(user, "q", "SELECT p.a, b, n FROM c JOIN p USING (a)")
    make(user, "r", "SELECT DISTINCT a, b FROM p")
    user.execute("ALTER TABLE c DROP CONSTRAINT c_a_fkey; ALTER TABLE p DROP CONSTRAINT p_pkey")
    user.execute("INSERT INTO c VALUES (3, 4), (4, 5)")
    check(user, "q", "r")
    user.execute("INSERT INTO p VALUES (3, 30), (1, 10), (1, 11)")
    check(user, "q", "r")


def test_an_unlogged_answer(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
    make(user, "q", "SELECT a FROM t")
    user.execute("ALTER TABLE q SET UNLOGGED; INSERT INTO t VALUES (3)")
    check(user, "q")


def test_options_change_when_it_is_owed(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int)")
    make(user, "q", "SELECT count(*) AS n FROM t")
    user.execute("INSERT INTO t VALUES (1)")
    user.execute("ALTER STANDING QUERY q SET (TRIGGER = 'every 1 second')")
    wait_until(lambda: one(user, "SELECT n FROM q") == 1, "the clock does not fire")
    user.execute("ALTER STANDING QUERY q SET (TRIGGER = 'every 5 rows')")
    user.execute("INSERT INTO t SELECT 2 FROM generate_series(1, 5)")
    wait_until(lambda: one(user, "SELECT n FROM q") == 6, "the rows do not fire")
    user.execute("INSERT INTO t VALUES (3), (3)")
    wait_until_followed(user)
    refresh(user, "q")
    assert one(user, "SELECT n FROM q") == 8
    check(user, "q")


def test_two_queries_of_one_trigger_move_together(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int)")
    make(user, "q", "SELECT a FROM t", "WITH (TRIGGER = 'every 1 second')")
    make(user, "r", "SELECT count(*) AS n FROM t")
    user.execute("INSERT INTO t VALUES (1)")
    refresh(user, "q", "r")
    positions = (
        "SELECT count(DISTINCT position) FROM gavial.queries WHERE result IN ('q'::regclass, 'r'::regclass)"
    )
    user.execute("ALTER STANDING QUERY q SET (TRIGGER = 'on demand')")
    user.execute("INSERT INTO t VALUES (2)")
    refresh(user, "q", "r")
    assert one(user, positions) == 1


def test_columns_of_every_kind(user: psycopg.Connection) -> None:
    columns = {
        "a": ("numeric(30,6)", ["1.50", "-0.000001", "12345678901234567890.5"]),
        "b": ("timestamptz", ["2024-02-29 23:59:59.999999+05", "1970-01-01 00:00:00+00"]),
        "c": ("timestamp", ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]),
        "d": ("interval", ["1 mon -2 days 03:04:05.000006", "-1 year"]),
        "e": ("uuid", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
        "f": ("json", ['{"a": [1, null]}', "[]"]),
        "g": ("jsonb", ['{"a": [1, null]}', '"x"']),
        "h": ("int[]", ["{1,NULL,3}", "{}"]),
        "i": ("text[]", ['{a,NULL,"b \\" c"}', '{"","NULL"}']),
        "j": ("bytea", ["\\x00ff", "\\x"]),
        "k": ("mood", ["happy", "sad"]),
        "l": ("char(5)", ["ab", "", "  x"]),
        "m": ("float8", ["NaN", "-Infinity", "1e-300"]),
        "n": ("date", ["0001-01-01", "9999-12-31"]),
        "o": ("time", ["00:00:00", "23:59:59.999999"]),
        "p": ("bool", ["t", "f"]),
        "r": ("varchar(9)", ["", "ü,\\n\n\"'"]),
        "s": ("numeric(10,3)", ["-1.100", "7"]),
        "t": ("timetz", ["10:00:00+02"]),
        "u": ("float4", ["1.1", "NaN"]),
        "v": ("positive", ["1", "2"]),
    }
    user.execute("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (value > 0)")
    listed = ", ".join(f"{name} {type}" for name, (type, _) in columns.items())
    user.execute(f"CREATE TABLE w (id int PRIMARY KEY, {listed})".encode())
    user.execute("INSERT INTO w VALUES (0)")
    for number in range(3):
        values = [shown[number % len(shown)] for _, shown in columns.values()]
        marks = ", ".join(["%s"] * (len(values) + 1))
        user.execute(f"INSERT INTO w VALUES ({marks})".encode(), (number + 1, *values))
    make(user, "q", f"SELECT {', '.join(columns)} FROM w")
    make(user, "free", "SELECT a::numeric, f FROM w")
    check(user, "q")
    assert not differences(user, "free")
    user.execute(
        "DELETE FROM w WHERE id = 2; UPDATE w SET id = 9, l = 'zz' WHERE id = 1; INSERT INTO w VALUES (4)"
    )
    check(user, "q")


def test_a_domain_that_forbids_null_is_null_in_an_outer_join(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE DOMAIN amount AS numeric(9,3) NOT NULL DEFAULT 0; "
        "CREATE DOMAIN known AS amount CHECK (VALUE IS NOT NULL AND VALUE < 1000); "
        "CREATE DOMAIN note AS json; CREATE TABLE t (id int PRIMARY KEY, d amount, k known, n note); "
        "INSERT INTO t VALUES (1, 1.5, 2, '[1]'), (2, 2, 3.25, '{}'), (4, 0, 7, NULL)"
    )
    joined = "FROM t LEFT JOIN t u ON u.id = t.id + 1"
    make(user, "q", f"SELECT t.id, t.d, u.d AS e, u.k, u.n, u.d + u.k AS f, sqrt(u.d) AS g {joined}")
    make(user, "r", f"SELECT u.k, count(*) AS n {joined} GROUP BY u.k")
    check(user, "q", "r")
    user.execute("INSERT INTO t VALUES (3, 5, 6, '0'); DELETE FROM t WHERE id = 2")
    check(user, "q", "r")


def test_a_verification_that_waits_keeps_nobody_waiting(dsn: str, user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int); CREATE TABLE elsewhere (a int)")
    make(user, "q", "SELECT a FROM t")
    with session(dsn) as other:
        other.execute("BEGIN; INSERT INTO s.elsewhere VALUES (1)")
        [run] = ask(user, "verify", "q")
        user.execute("INSERT INTO t VALUES (1)")
        refresh(user, "q")
        assert one(user, "SELECT state FROM gavial.runs WHERE id = %s", run) == "waiting"
        other.execute("COMMIT")
    assert ended(user, run).state == "done"


def test_a_query_is_dropped_while_spark_works_for_it(user: psycopg.Connection) -> None:
    """The others do not wait until the end of what nobody wants."""
    user.execute("CREATE TABLE t (a int); INSERT INTO t SELECT g FROM generate_series(1, 30000) g")
    make(user, "q", "SELECT count(*) AS n FROM t")
    user.execute(
        "CREATE STANDING QUERY endless AS "
        "SELECT count(*) AS n FROM t x, t y, t z WHERE x.a + y.a < z.a WITH NO DATA"
    )
    told = "SELECT gavial.progress_of(id) FROM gavial.queries WHERE result = 'endless'::regclass"
    wait_until(lambda: ": part 1 of 2, " in one(user, told), "nobody says that it has begun")
    user.execute("DROP STANDING QUERY endless; INSERT INTO t VALUES (1)")
    check(user, "q")
