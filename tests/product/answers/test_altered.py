"""Standing queries over tables that are altered or captured anew, or with other options (G1, G8, F20)."""

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
    status_of,
    wait_until_answered,
)
from tests.support.capture.databases import one, rows_of, wait_until_captured
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, refused, session

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture
def dsn(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with session(dsn) as connection:
        yield connection


def explained(connection: psycopg.Connection, statement: str) -> list[str]:
    """The lines that EXPLAIN prints, without what they are indented by."""
    return [str(line).strip() for (line,) in connection.execute(f"EXPLAIN {statement}".encode())]


def wait_until_worked(connection: psycopg.Connection, name: str, method: str, forced: int) -> None:
    """Its groups are computed by this method, and so many of its paths have the pace of others."""
    subplans = "SELECT count(*) = 1 FROM gavial.subplans JOIN gavial.queries q ON q.id = query_id "
    subplans += "WHERE q.result = %s::regclass AND text LIKE 'aggregate %%' AND method = %s"
    paths = "SELECT count(*) = %s FROM gavial.paths JOIN gavial.queries q ON q.id = query_id "
    paths += "WHERE q.result = %s::regclass AND reason = 'forced to the pace of others'"
    wait_until(
        lambda: one(connection, subplans, name, method) and one(connection, paths, forced, name),
        f"{name} is not worked as its options say",
        ANSWER_SECONDS,
    )


def test_who_reads_a_column_that_cannot_be_stored_is_refused(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE t (a int PRIMARY KEY, p point, w circle, b int); "
        "INSERT INTO t SELECT g, point(g, g), circle(point(g, g), 1), g % 3 FROM generate_series(1, 10) g"
    )
    for column in ("p", "w"):
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            user.execute(f"CREATE STANDING QUERY r AS SELECT {column} FROM t WITH NO DATA".encode())
    make(user, "q", "SELECT b, count(*) AS n FROM t GROUP BY b")
    user.execute("UPDATE t SET p = NULL; DELETE FROM t WHERE a = 1")
    check(user, "q")


def test_a_column_with_a_default_has_it_in_older_rows(user: psycopg.Connection) -> None:
    user.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1), (2, 2)")
    make(user, "q", "SELECT sum(b) AS n FROM t")
    wait_until_captured(user, ["t"])
    user.execute(
        "ALTER TABLE t ADD c text DEFAULT 'it''s new', ADD d numeric(8, 2) DEFAULT 1.5, "
        "ADD e date DEFAULT '2020-02-29', ADD f int[] DEFAULT '{1,NULL}', ADD g mood DEFAULT 'glad', "
        "ADD h timestamptz DEFAULT '2020-01-01 00:00+01', ADD i bytea DEFAULT '\\x00ff', "
        "ADD j boolean DEFAULT true, ADD k int, ADD l interval DEFAULT '1 mon 2 days', "
        "ADD m uuid DEFAULT '7b3a1f0e-6a2f-4f41-9f0e-0123456789ab', ADD o float8 DEFAULT 0.1, "
        "ADD p numeric DEFAULT 2.5, ADD r char(4) DEFAULT 'x', ADD s time DEFAULT '12:34:56.789'"
    )
    user.execute("INSERT INTO t (a, b, c) VALUES (3, 3, NULL); UPDATE t SET c = 'other' WHERE a = 1")
    check(user, "q")
    make(user, "r", "SELECT * FROM t")
    make(user, "s", "SELECT c, count(*) AS n, sum(d) AS d FROM t WHERE j AND d > 1 GROUP BY c")
    check(user, "q", "r", "s")
    # What is changed later takes back rows that have the column's value, and others that had none.
    user.execute("ALTER TABLE t ALTER c SET DEFAULT 'newest'; INSERT INTO t (a, b) VALUES (4, 4)")
    user.execute("UPDATE t SET b = b + 1; DELETE FROM t WHERE a = 2")
    check(user, "q", "r", "s")
    assert rows_of(user, "SELECT c, n FROM s") == {("other", 1): 1, (None, 1): 1, ("newest", 1): 1}


def test_a_column_that_is_dropped_or_retyped(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int, c int, d int)")
    user.execute("INSERT INTO t SELECT g, g, g, g FROM generate_series(1, 5) g")
    make(user, "q", "SELECT sum(b) AS n FROM t")
    make(user, "r", "SELECT sum(c) AS n FROM t")
    user.execute("INSERT INTO t VALUES (6, 6, 6, 6); ALTER TABLE t DROP d; INSERT INTO t VALUES (7, 7, 7)")
    check(user, "q", "r")
    for change in ("DROP c", "ALTER c TYPE bigint"):
        with pytest.raises((psycopg.errors.DependentObjectsStillExist, psycopg.errors.FeatureNotSupported)):
            user.execute(f"ALTER TABLE t {change}".encode())
    user.execute("ALTER TABLE t DROP c CASCADE; UPDATE t SET b = b * 2")
    assert rows_of(user, "SELECT count(*) FROM gavial.queries") == {(1,): 1}
    check(user, "q")
    user.execute(
        "ALTER TABLE t ADD c text; ALTER TABLE t ALTER c TYPE int USING 5; INSERT INTO t VALUES (8, 8, 8)"
    )
    wait_until(lambda: status_of(user, "q")[0] == "active", "the query does not come back")
    check(user, "q")
    make(user, "s", "SELECT a, c FROM t")
    check(user, "q", "s")


def test_what_no_query_reads_is_altered_and_nothing_is_copied(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int, gone text, named text)")
    user.execute("INSERT INTO t SELECT g, g, 'x', 'y' FROM generate_series(1, 9) g")
    make(user, "q", "SELECT b % 3 AS k, count(*) AS n, min(a) AS m FROM t GROUP BY b % 3")
    state = "SELECT captured_from, state FROM gavial.sources WHERE relation = 't'::regclass"
    plan = "SELECT digest, planned FROM gavial.plans"
    before = rows_of(user, state), rows_of(user, plan)
    name = "named"
    for number, change in enumerate(
        (
            "ALTER TABLE t ADD c int",
            "ALTER TABLE t ALTER c SET DEFAULT 5",
            "ALTER TABLE t ADD d text DEFAULT 'd'",
            "ALTER TABLE t DROP gone",
            "ALTER TABLE t RENAME named TO renamed",
            "ALTER TABLE t ALTER b SET DEFAULT 7, ALTER renamed SET STORAGE EXTERNAL",
            "COMMENT ON COLUMN t.b IS 'b'; COMMENT ON TABLE t IS 't'",
            "CREATE INDEX ON t (b); CREATE UNIQUE INDEX ON t (b, a); CREATE STATISTICS s ON a, b FROM t",
            "ALTER TABLE t ADD CHECK (a > -100); ALTER TABLE t ALTER renamed SET NOT NULL; ANALYZE t",
        )
    ):
        user.execute(change.encode())
        name = "renamed" if "RENAME" in change else name
        user.execute(f"INSERT INTO t (a, b, {name}) VALUES ({-number}, 1, 'z')".encode())
        user.execute("UPDATE t SET b = b + 1 WHERE a % 2 = 0")
        check(user, "q")
        assert (rows_of(user, state), rows_of(user, plan)) == before, change
    make(user, "r", "SELECT a, c, d, renamed FROM t")
    check(user, "q", "r")
    assert rows_of(user, state) == before[0]
    # All rows are written anew, each with a value of its own in a column that nobody reads.
    user.execute("ALTER TABLE t ADD e float8 DEFAULT random(); ALTER TABLE t ADD f serial")
    user.execute("UPDATE t SET b = b + 1 WHERE a > 3; INSERT INTO t (a, b, renamed) VALUES (50, 1, 'z')")
    check(user, "q", "r")
    assert rows_of(user, state) == before[0]
    make(user, "s", "SELECT a, e, f FROM t WHERE e < 0.8")
    check(user, "q", "r", "s")
    assert rows_of(user, state) != before[0]


def test_another_type_of_what_no_query_reads(user: psycopg.Connection) -> None:
    """Nothing is copied or computed anew, whatever becomes of the rows that had the other type."""
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int, c int, d varchar(5), e int[])")
    user.execute("INSERT INTO t SELECT g, g, g, 'x', '{{1}}' FROM generate_series(1, 9) g")
    make(user, "q", "SELECT b % 3 AS k, count(*) AS n, min(a) AS m FROM t GROUP BY b % 3")
    state = "SELECT captured_from, state FROM gavial.sources WHERE relation = 't'::regclass"
    computed = "SELECT o.position > 0, planned FROM gavial.plans JOIN gavial.offsets o USING (query_id)"
    before = rows_of(user, state), rows_of(user, computed)
    for number, change in enumerate(
        (
            "ALTER TABLE t ALTER c TYPE bigint",
            "ALTER TABLE t ALTER c TYPE text USING 'c' || c",
            "ALTER TABLE t ALTER c TYPE text USING c || '!'",
            "ALTER TABLE t ALTER d TYPE varchar(9)",
            "ALTER TABLE t ALTER e TYPE text, ADD f float8 DEFAULT random()",
            "ALTER TABLE t ADD g int DEFAULT 7; ALTER TABLE t ALTER g TYPE bigint",
        )
    ):
        user.execute(change.encode())
        user.execute(f"INSERT INTO t (a, b) VALUES ({-number}, 1)".encode())
        user.execute("UPDATE t SET b = b + 1 WHERE a % 2 = 0")
        user.execute("DELETE FROM t WHERE a = 9 - %s", (number,))
        check(user, "q")
        assert (rows_of(user, state), rows_of(user, computed)) == before, change
    assert one(user, "SELECT unstorable IS NULL FROM gavial.sources WHERE relation = 't'::regclass")
    make(user, "r", "SELECT a, c, d, e, g FROM t")
    check(user, "q", "r")
    assert rows_of(user, state) != before[0]
    with pytest.raises((psycopg.errors.DependentObjectsStillExist, psycopg.errors.FeatureNotSupported)):
        user.execute("ALTER TABLE t ALTER c TYPE varchar")


def test_a_column_that_comes_to_a_partition_with_its_root(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE p (a int, b int) PARTITION BY LIST (a)")
    user.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF p DEFAULT")
    user.execute("INSERT INTO p VALUES (1, 1), (1, 2), (2, 3)")
    make(user, "one", "SELECT a, b FROM p1")
    make(user, "whole", "SELECT a, sum(b) AS n FROM p GROUP BY a")
    user.execute("UPDATE p SET a = 3 - a WHERE b > 1; INSERT INTO p1 VALUES (1, 10)")
    check(user, "one", "whole")
    user.execute("ALTER TABLE p ADD c int DEFAULT 5; INSERT INTO p VALUES (1, 7, 7)")
    make(user, "later", "SELECT b, c FROM p1")
    make(user, "rest", "SELECT b, c FROM p2")
    user.execute("UPDATE p SET b = -b WHERE c = 5; TRUNCATE p2; INSERT INTO p VALUES (2, 8, 8)")
    check(user, "one", "whole", "later", "rest")
    user.execute("DROP STANDING QUERY whole; UPDATE p SET a = 3 - a")
    check(user, "one", "later", "rest")
    user.execute("CREATE STANDING QUERY whole AS SELECT a, sum(b) AS n FROM p GROUP BY a WITH NO DATA")
    user.execute("ALTER TABLE p DETACH PARTITION p1; UPDATE p1 SET b = 0; INSERT INTO p2 VALUES (4, 4, 4)")
    wait_until_answered(user, ["whole"])
    check(user, "one", "later", "rest", "whole")
    user.execute("DROP STANDING QUERY one, later; ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1)")
    user.execute("UPDATE p SET a = 3 - a WHERE a < 3")
    check(user, "rest", "whole")


def test_a_partition_that_is_truncated_by_itself(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE p (a int, b int) PARTITION BY LIST (a)")
    user.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); INSERT INTO p VALUES (1, 1), (1, 2)")
    user.execute("CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2); INSERT INTO p VALUES (2, 3)")
    make(user, "q", "SELECT a, sum(b) AS n FROM p GROUP BY a")
    user.execute("TRUNCATE p1; INSERT INTO p VALUES (2, 4)")
    check(user, "q")
    assert rows_of(user, "TABLE q") == {(2, 7): 1}


def test_who_reads_a_table_that_is_captured_anew_begins_anew(dsn: str, user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int, b int); INSERT INTO t SELECT g % 3, g FROM generate_series(1, 9) g")
    user.execute("CREATE TABLE u (a int); INSERT INTO u VALUES (0), (1)")
    make(user, "q", "SELECT t.a, count(*) AS n, min(b) AS b FROM t JOIN u USING (a) GROUP BY t.a")
    user.execute("INSERT INTO t VALUES (0, 0)")
    check(user, "q")
    before = one(user, "SELECT position FROM gavial.queries")
    with session(dsn) as other, other.transaction():
        other.execute("INSERT INTO u VALUES (2)")
        user.execute("UPDATE gavial.sources SET state = 'joining' WHERE relation = 't'::regclass")
        user.execute("DELETE FROM t WHERE b = 3")
        [run] = ask(user, "refresh", "q")
        waits = "SELECT detail LIKE 'waits for%' FROM gavial.sources WHERE relation = 't'::regclass"
        wait_until(lambda: bool(one(user, waits)), "it is not copied again")
        assert one(user, "SELECT state FROM gavial.runs ORDER BY asked DESC LIMIT 1") == "waiting"
        assert one(user, "SELECT position FROM gavial.queries") == before
    assert ended(user, run).state == "done"
    check(user, "q")


# By the name of each query: its options, how its groups are computed, and how many of its paths have a forced
# pace; and what that is altered to.
FORCED = {
    "coarse": ("PACES = uniform, METHOD = recompute", "recompute", 3),
    "fine": ("PACES = leaf, METHOD = linear", "linear", 1),
}
ALTERED = {
    "coarse": ("RESET (PACES, METHOD)", "linear", 0),
    "fine": ("SET (PACES = uniform, METHOD = recompute)", "recompute", 3),
}


def test_what_is_forced_changes_no_answer(user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE t (a int PRIMARY KEY, b int, c int); CREATE TABLE u (b int PRIMARY KEY, d int)"
    )
    user.execute("INSERT INTO u SELECT g, g % 3 FROM generate_series(1, 10) g")
    user.execute("INSERT INTO t SELECT g, g % 10 + 1, g FROM generate_series(1, 200) g")
    query = "SELECT d, count(*) AS n, sum(c) AS c FROM t JOIN u USING (b) GROUP BY d"
    for name, (option, _method, _forced) in FORCED.items():
        options = f"FINAL_WORK = 0.2, EXPECT = 't 300, u 30', {option}"
        user.execute(f"CREATE STANDING QUERY {name} WITH ({options}) AS {query} WITH NO DATA".encode())
    for name, (_options, method, forced) in FORCED.items():
        wait_until_worked(user, name, method, forced)
    assert "Paces: forced to one for the whole query" in explained(user, "(CURVE) STANDING QUERY coarse")
    for statement in "STANDING QUERY coarse", f"CREATE STANDING QUERY z WITH (METHOD = recompute) AS {query}":
        assert {"Methods:", "inner join 2: linear", "aggregate 3: recompute"} <= {*explained(user, statement)}
    user.execute("UPDATE t SET b = b % 10 + 1 WHERE a < 50; DELETE FROM u WHERE b = 3")
    check(user, *FORCED)
    for name, (change, _method, _forced) in ALTERED.items():
        user.execute(f"ALTER STANDING QUERY {name} {change}".encode())
    user.execute("INSERT INTO t SELECT g, g % 11 + 1, g FROM generate_series(201, 300) g")
    assert not differences(user, *FORCED)
    user.execute("DELETE FROM t WHERE a % 7 = 0; INSERT INTO u VALUES (11, 1)")
    check(user, *FORCED)
    for name, (_change, method, forced) in ALTERED.items():
        wait_until_worked(user, name, method, forced)
    user.execute("UPDATE t SET c = c + 1 WHERE a % 2 = 0; INSERT INTO u VALUES (3, 2)")
    check(user, *FORCED)


def test_row_security_that_is_switched_on_and_off_again(dsn: str, user: psycopg.Connection) -> None:
    """While it is on the query is in error; it heals by itself, with what changed meanwhile."""
    role = f"reader_{one(user, 'SELECT current_database()')}"
    user.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'; CREATE SCHEMA s AUTHORIZATION {role}".encode())
    user.execute("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    user.execute(f"GRANT SELECT ON t TO {role}".encode())
    try:
        with session(dsn, role) as owner:
            owner.execute("CREATE STANDING QUERY s.q AS SELECT a FROM t")
            user.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY; INSERT INTO t VALUES (3)")
            assert status_of(user, "s.q")[:2] == ("error", "0A000")
            error = refused(owner, "REFRESH STANDING QUERY s.q")
            assert (error.sqlstate, error.message) == ("0A000", 'standing query "q" is in error')
            assert error.hint == 'When the cause is gone: ALTER STANDING QUERY "s"."q" RESUME'
            user.execute("ALTER TABLE t DISABLE ROW LEVEL SECURITY")
            owner.execute("REFRESH STANDING QUERY s.q")
        assert user.execute("TABLE s.q ORDER BY a").fetchall() == [(1,), (2,), (3,)]
        check(user, "s.q")
    finally:
        user.execute(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}".encode())
