"""What users are told of queries that are answered, and of those that are not: SHOW, EXPLAIN, the catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.answers.answering import make, status_of
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session
from tests.support.running.waiting_client import waiting

pytestmark = pytest.mark.service

SHOWN = "SELECT status, detail FROM gavial.shown WHERE name = %s"
CHOSEN = (
    "SELECT count(*) FROM gavial.paths p JOIN gavial.standing_queries s ON s.id = p.query_id "
    "WHERE s.name = %s"
)
GOAL = "SELECT goal_reachable FROM gavial.standing_queries WHERE name = %s"


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture
def dsn(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE t (a int PRIMARY KEY, b int)")
            connection.execute("INSERT INTO t SELECT n, n % 5 FROM generate_series(1, 100) n")
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with session(dsn) as connection:
        yield connection


def lines(connection: psycopg.Connection, statement: str) -> list[str]:
    return [line for (line,) in connection.execute(statement.encode())]


def test_a_query_whose_first_result_failed_says_that_it_has_none(user: psycopg.Connection) -> None:
    user.execute("CREATE STANDING QUERY q AS SELECT a / (b - 4) AS n FROM t")
    assert status_of(user, "q")[:2] == ("error", "22012")
    why = "the result is not computed yet: division by zero"
    assert user.execute(SHOWN, ("q",)).fetchall() == [("error", why)]
    assert ("status_detail", why) in user.execute("SHOW STANDING QUERY q").fetchall()
    user.execute("DELETE FROM t WHERE b = 4")
    user.execute("REFRESH STANDING QUERY q")
    assert user.execute(SHOWN, ("q",)).fetchall() == [("active", None)]
    user.execute("INSERT INTO t VALUES (1000, 4)")
    with pytest.raises(psycopg.errors.DivisionByZero):
        user.execute("REFRESH STANDING QUERY q")
    assert user.execute(SHOWN, ("q",)).fetchall() == [("error", "division by zero")]


def test_explain_says_what_the_status_of_a_query_is_and_why(user: psycopg.Connection) -> None:
    make(user, "q", "SELECT a / (b - 7) AS n FROM t")
    verbose = "EXPLAIN (VERBOSE) STANDING QUERY q"
    assert not any(line.startswith("  Status:") for line in lines(user, verbose))
    assert any(line.endswith(": the query is computed by it") for line in lines(user, verbose))
    user.execute("INSERT INTO t VALUES (1000, 7)")
    with pytest.raises(psycopg.errors.DivisionByZero):
        user.execute("REFRESH STANDING QUERY q")
    shown = lines(user, verbose)
    assert shown[1] == "  Status: error: division by zero"
    assert any(line.endswith(": the query was computed by it, and its status is error") for line in shown)
    found = user.execute("EXPLAIN (FORMAT JSON) STANDING QUERY q").fetchall()[0][0]
    told = found if isinstance(found, dict) else json.loads(found)
    assert (told["status"], told["status_detail"]) == ("error", "division by zero")
    user.execute("ALTER STANDING QUERY q SUSPEND")
    shown = lines(user, verbose)
    assert shown[1] == "  Status: suspended"
    assert any("and its status is suspended" in line for line in shown)


def test_explain_analyze_says_that_nothing_has_changed_and_what_the_last_result_took(
    user: psycopg.Connection,
) -> None:
    make(user, "q", "SELECT b, count(*) AS n FROM t GROUP BY b")
    analyze = "EXPLAIN (ANALYZE) STANDING QUERY q"
    first = lines(user, analyze)
    first = first[first.index("  Measured:") + 1 :]
    assert first[0].startswith("    Nothing has changed since the result that was due at ")
    assert first[1].startswith("    Final work: not measured, for it was computed from scratch")
    assert " in 0 runs" not in first[2]
    scheduled = "SELECT count(*) FROM gavial.paths"
    wait_until(lambda: one(user, scheduled) > 0, "no paces are chosen")
    user.execute("INSERT INTO t VALUES (1000, 1)")
    measured = lines(user, analyze)
    measured = measured[measured.index("  Measured:") + 1 :]
    assert re.match(r"    Final work: [0-9.]+ of the batch's [0-9.]+ s, predicted 1 ", measured[0]), measured
    again = lines(user, analyze)
    again = again[again.index("  Measured:") + 1 :]
    assert again[0].startswith("    Nothing has changed since the result that was due at ")
    assert again[1:] == measured
    assert "unknown" not in "".join(again)


def test_whether_a_goal_can_be_met_is_unknown_until_it_is_known_what_comes(user: psycopg.Connection) -> None:
    said: list[tuple[str | None, str | None, str | None]] = []
    user.add_notice_handler(
        lambda told: said.append((told.severity_nonlocalized, told.message_primary, told.message_hint))
    )
    query = "SELECT b, count(*) AS n FROM t GROUP BY b"
    make(user, "blind", query, "WITH (FINAL_WORK = 0.5, TRIGGER = 'at 06:00')")
    blind = [told for told in said if told[1] and told[1].startswith("no early runs are planned")]
    [(severity, _message, hint)] = blind
    assert severity == "NOTICE"
    assert hint is not None and "EXPECT" in hint and "goal_reachable" in hint
    said.clear()
    make(user, "told", query, "WITH (FINAL_WORK = 0.9, TRIGGER = 'at 06:00', EXPECT = 't 1000000')")
    make(user, "wishless", query)
    assert not [told for told in said if told[1] and told[1].startswith("no early runs are planned")]
    for name in ("blind", "told", "wishless"):
        wait_until(lambda name=name: one(user, CHOSEN, name) > 0, "no paces are chosen")  # type: ignore[misc]
    assert [one(user, GOAL, name) for name in ("blind", "wishless")] == [None, True]
    assert one(user, GOAL, "told") is not None


def test_a_writer_holds_up_the_table_that_joins_and_nothing_else(dsn: str, user: psycopg.Connection) -> None:
    """However long it lasts: longer than any of our sessions waits for a lock."""
    make(user, "q", "SELECT count(*) AS n FROM t")
    user.execute("CREATE TABLE new (a int PRIMARY KEY); INSERT INTO new VALUES (1)")
    with session(dsn) as writer, session(dsn) as other:
        writer.execute("BEGIN; INSERT INTO t VALUES (-1, 0)")
        blocker = f"waiting for process {writer.info.backend_pid} of "
        with waiting(dsn, "CREATE STANDING QUERY of_new AS SELECT a FROM new") as statement:
            message, _detail, hint = statement.wait_for_notice(blocker)
            assert ", in a transaction since " in message
            assert f"pg_terminate_backend({writer.info.backend_pid})" in hint
            other.execute("SELECT pg_sleep(14)")
            other.execute("INSERT INTO t VALUES (1000, 0)")
            other.execute("REFRESH STANDING QUERY q")
            assert one(other, "SELECT n FROM q") == 101
            told = "SELECT detail FROM gavial.sources WHERE relation = 'new'::regclass"
            assert one(other, told).startswith(f"waits for process {writer.info.backend_pid} of ")
            assert one(other, "SELECT state FROM gavial.capture") == "running"
            assert not statement.outcome.done()
            writer.execute("COMMIT")
            statement.ends_well()
            messages = [notice[0] for notice in statement.notices]
            assert len(set(messages)) == len(messages), messages


def test_a_writer_holds_up_the_first_table_of_a_database(dsn: str, user: psycopg.Connection) -> None:
    with session(dsn) as writer:
        writer.execute("BEGIN; CREATE TABLE other (a int)")
        with waiting(dsn, "CREATE STANDING QUERY q AS SELECT count(*) AS n FROM t") as statement:
            statement.wait_for_notice(f"waiting for process {writer.info.backend_pid} of ")
            user.execute("SELECT pg_sleep(14)")
            assert not statement.outcome.done()
            assert one(user, "SELECT state FROM gavial.capture") != "failed"
            writer.execute("COMMIT")
            statement.ends_well()
    assert one(user, "SELECT n FROM q") == 100
