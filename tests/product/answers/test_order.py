"""Results are published when they are ready; only what was asked for together waits for each other (G3)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from catalog.queries.running import forget_history
from tests.support.answers.answering import (
    ANSWER_SECONDS,
    ask,
    check,
    ended,
    refresh,
    unlike,
    wait_until_answered,
)
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

LOG = """
    CREATE TABLE published (number serial, query uuid, inside xid8, position pg_lsn);
    CREATE FUNCTION log_published() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.published (query, inside, position)
        VALUES (NEW.query_id, pg_current_xact_id(), NEW.position);
        RETURN NULL;
    END $$;
    CREATE TRIGGER log AFTER INSERT ON gavial.triggers FOR EACH ROW EXECUTE FUNCTION log_published()
"""
PUBLISHED = """
    SELECT DISTINCT ON (q.id) q.result::text, p.inside::text, p.position::text
    FROM gavial.queries q JOIN published p ON p.query = q.id ORDER BY q.id, p.number DESC
"""
"""By query: the transaction in which its latest result was published, and the position of that."""


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
        connection.execute(LOG)
        connection.execute("CREATE TABLE t (a int PRIMARY KEY, b int)")
        connection.execute("INSERT INTO t SELECT n, n % 10 FROM generate_series(1, 1000) n")
        yield connection


def make(connection: psycopg.Connection, *names: str, options: str = "") -> None:
    for number, name in enumerate(names):
        connection.execute(
            f"CREATE STANDING QUERY {name} {options} "
            f"AS SELECT b, count(*) AS n FROM t WHERE a % 7 <> {number} GROUP BY b".encode()
        )


def published(connection: psycopg.Connection) -> dict[str, tuple[str, str]]:
    return {name: (transaction, at) for name, transaction, at in connection.execute(PUBLISHED)}


def test_one_statement_publishes_in_one_transaction(user: psycopg.Connection) -> None:
    make(user, "q", "r", "s")
    user.execute("UPDATE t SET b = b + 1 WHERE a < 100")
    user.execute("REFRESH STANDING QUERY q, r")
    found = published(user)
    assert found["q"] == found["r"] != found["s"]
    assert not unlike(user, "q") and not unlike(user, "r")


def test_separate_statements_publish_each(user: psycopg.Connection) -> None:
    names = "q", "r", "s"
    make(user, *names)
    user.execute("UPDATE t SET b = b + 1 WHERE a < 100")
    runs = [ask(user, "refresh", name)[0] for name in names]
    for run in runs:
        assert ended(user, run).state == "done"
    assert len({transaction for transaction, _ in published(user).values()}) == 3
    check(user, *names)


def test_each_of_many_that_the_clock_asks_for_is_published_when_it_is_ready(user: psycopg.Connection) -> None:
    names = [f"q{number}" for number in range(6)]
    make(user, *names)
    before = published(user)
    user.execute("UPDATE t SET b = b + 1 WHERE a < 100")
    with user.transaction():
        for name in names:
            user.execute(f"ALTER STANDING QUERY {name} SET (TRIGGER = 'every 1 hour')".encode())
        user.execute("UPDATE gavial.triggers SET fired = fired - interval '2 hours'")
    wait_until(
        lambda: all(published(user)[name] != before[name] for name in names), "not due", ANSWER_SECONDS
    )
    assert len({transaction for transaction, _ in published(user).values()}) == len(names)
    check(user, *names)


def test_a_publish_group_is_always_at_one_position(user: psycopg.Connection) -> None:
    make(user, "q", "r", options="WITH (PUBLISH_GROUP = 'daily')")
    make(user, "s")
    user.execute("INSERT INTO t VALUES (2001, 1)")
    user.execute("REFRESH STANDING QUERY q")
    user.execute("INSERT INTO t VALUES (2002, 1)")
    user.execute("REFRESH STANDING QUERY r")
    user.execute("REFRESH STANDING QUERY s")
    found = published(user)
    assert found["q"] == found["r"] != found["s"]
    assert not any(unlike(user, name) for name in "qrs")
    user.execute("ALTER STANDING QUERY q RESET (PUBLISH_GROUP)")
    user.execute("INSERT INTO t VALUES (2003, 1)")
    user.execute("REFRESH STANDING QUERY q")
    found = published(user)
    assert found["q"] != found["r"]


def test_who_fails_stays_out_of_its_group(user: psycopg.Connection) -> None:
    make(user, "q", "r", options="WITH (PUBLISH_GROUP = 'daily')")
    user.execute(
        "CREATE STANDING QUERY broken WITH (PUBLISH_GROUP = 'daily') AS SELECT sum(100 / (b + 1)) AS n FROM t"
    )
    user.execute("INSERT INTO t VALUES (2001, -1)")
    user.execute("REFRESH STANDING QUERY q")
    found = published(user)
    assert found["q"] == found["r"]
    assert one(user, "SELECT status_sqlstate FROM gavial.standing_queries WHERE name = 'broken'") == "22012"
    user.execute("DELETE FROM t WHERE b = -1")
    check(user, "q", "r", "broken")


def test_a_refresh_goes_before_what_the_clock_asks_for(user: psycopg.Connection) -> None:
    """Of many that are overdue at once, most come after the one that a client waits for."""
    names = [f"q{number}" for number in range(12)]
    make(user, *names, "asked")
    user.execute("UPDATE t SET b = b + 1 WHERE a < 100")
    user.execute("SELECT pg_logical_emit_message(true, 'gavial', '')")
    refresh(user, "asked")
    before = published(user)
    user.execute("UPDATE t SET b = b + 1 WHERE a < 100")
    with user.transaction():
        for name in names:
            user.execute(f"ALTER STANDING QUERY {name} SET (TRIGGER = 'every 1 hour')".encode())
        user.execute("UPDATE gavial.triggers SET fired = fired - interval '2 hours'")
    wait_until(lambda: published(user) != before, "not due", ANSWER_SECONDS)
    user.execute("REFRESH STANDING QUERY asked")
    late = sum(position == before[name] for name, position in published(user).items())
    assert late > 3, "it waited for the others"
    wait_until(
        lambda: all(published(user)[name] != before[name] for name in names), "not due", ANSWER_SECONDS
    )
    check(user, *names)


def test_another_owner_does_not_wait_behind_many(dsn: str, user: psycopg.Connection) -> None:
    names = [f"q{number}" for number in range(16)]
    make(user, *names)
    user.execute(
        "CREATE ROLE other LOGIN PASSWORD 'other'; "
        "GRANT SELECT ON t TO other; GRANT CREATE ON SCHEMA public TO other"
    )
    with session(dsn, "other") as other:
        make(other, "small")
        user.execute("UPDATE t SET b = b + 1 WHERE a < 100")
        runs = ask(user, "refresh", *names)
        other.execute("REFRESH STANDING QUERY small")
        assert not unlike(user, "small")
        left = (
            "SELECT count(*) FROM gavial.runs WHERE id::text = ANY (%s) AND state IN ('waiting', 'running')"
        )
        assert one(user, left, runs) == len(names), "all of a statement are published at once, and after that"
    for run in runs:
        assert ended(user, run).state == "done"
    assert len({published(user)[name] for name in names}) == 1
    user.execute("DROP OWNED BY other; DROP ROLE other")


def test_how_late_a_result_is(dsn: str, user: psycopg.Connection) -> None:
    late = "SELECT lag_own FROM gavial.standing_queries WHERE name = %s"
    user.execute("CREATE STANDING QUERY q AS SELECT count(*) AS n FROM t WITH NO DATA")
    wait_until_answered(user, ["q"])
    assert one(user, late, "q") == timedelta(0)
    with session(dsn) as other, other.transaction(force_rollback=True):
        other.execute("LOCK TABLE q IN ACCESS EXCLUSIVE MODE")
        user.execute("INSERT INTO t VALUES (2001, 1)")
        [run] = ask(user, "refresh", "q")
        wait_until(lambda: one(user, late, "q") > timedelta(0), "it is not late")
    assert ended(user, run).state == "done"
    assert one(user, late, "q") == timedelta(0)
    user.execute("ALTER STANDING QUERY q SET (TRIGGER = 'every 1 hour')")
    wait_until(lambda: one(user, "SELECT due FROM gavial.queries") is not None, "when it is due is unknown")
    due = "SELECT due = max(fired) + interval '1 hour' FROM gavial.queries, gavial.triggers GROUP BY due"
    assert one(user, due)


def test_a_goal_is_not_met_where_nothing_came(user: psycopg.Connection) -> None:
    make(user, "q")
    latest = "SELECT met FROM gavial.triggers ORDER BY fired DESC LIMIT 1"
    wait_until(
        lambda: one(user, "SELECT predicted_final_work IS NOT NULL FROM gavial.queries") is True,
        "no paces are chosen",
        ANSWER_SECONDS,
    )
    user.execute("REFRESH STANDING QUERY q")
    assert one(user, latest) is None
    user.execute("INSERT INTO t VALUES (2001, 1)")
    user.execute("REFRESH STANDING QUERY q")
    assert one(user, latest) is not None


def test_the_latest_trigger_is_not_forgotten(user: psycopg.Connection) -> None:
    """Else a query of one trigger a month would never fire again."""
    make(user, "q")
    user.execute("REFRESH STANDING QUERY q")
    assert one(user, "SELECT count(*) FROM gavial.triggers") == 2
    user.execute("UPDATE gavial.triggers SET fired = fired - interval '31 days'")
    with user.transaction():
        forget_history(user)
    assert one(user, "SELECT count(*) FROM gavial.triggers") == 1
    user.execute("ALTER STANDING QUERY q SET (TRIGGER = 'every 31 days')")
    wait_until(lambda: one(user, "SELECT count(*) FROM gavial.triggers") == 2, "it is not due")
