"""EXPLAIN shows how often parts of a query would be worked, and CREATE warns of goals that cannot be met."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database

pytestmark = pytest.mark.service

QUERY = "SELECT part, count(*), sum(amount) FROM sales GROUP BY part"
EXPECTED = "FINAL_WORK = 0.3, EXPECT = 'sales 10000000'"


@pytest.fixture(scope="module")
def connection(gavial18: Gavial) -> Iterator[psycopg.Connection]:
    with fresh_database(gavial18) as dsn, psycopg.connect(dsn, autocommit=True) as connected:
        connected.execute("CREATE TABLE sales (id int PRIMARY KEY, part int, amount numeric)")
        connected.execute("INSERT INTO sales SELECT i, i % 100, i FROM generate_series(1, 2000) i")
        connected.execute("ANALYZE sales")
        yield connected


def lines(connection: psycopg.Connection, statement: str) -> list[str]:
    return [line for (line,) in connection.execute(statement.encode())]


def test_a_query_that_is_not_there_yet(connection: psycopg.Connection) -> None:
    shown = lines(connection, f"EXPLAIN CREATE STANDING QUERY q WITH ({EXPECTED}) AS {QUERY}")
    assert "  Schedule:" in shown
    assert any(line.startswith("    Final work: 0.") and "goal 0.3" in line for line in shown)
    [path] = [line for line in shown if "public.sales at pace" in line]
    assert int(path.split("at pace ")[1].split(",")[0]) > 1
    assert path.endswith(": the goal is met")


def test_one_row_for_each_step_of_the_search(connection: psycopg.Connection) -> None:
    shown = lines(connection, f"EXPLAIN (CURVE) CREATE STANDING QUERY q WITH ({EXPECTED}) AS {QUERY}")
    curve = shown[shown.index("  Curve:") + 1 :]
    assert curve[0] == "    final 1, total 1: one run"
    assert curve[1].endswith("pace 2 of public.sales to aggregate 1")


def test_the_same_as_json(connection: psycopg.Connection) -> None:
    statement = f"EXPLAIN (CURVE, FORMAT JSON) CREATE STANDING QUERY q WITH ({EXPECTED}) AS {QUERY}"
    [(shown,)] = connection.execute(statement.encode()).fetchall()
    found = shown if isinstance(shown, dict) else json.loads(shown)
    assert found["schedule"]["goal"] == 0.3
    assert [subplan["subplan"] for subplan in found["schedule"]["subplans"]] == [
        "aggregate 1",
        "aggregate 2",
        "result 3",
    ]
    finals = [point["final_work"] for point in found["schedule"]["curve"]]
    assert finals == sorted(finals, reverse=True)
    assert found["options"]["FINAL_WORK"] == "0.3"


def test_the_same_as_a_graph(connection: psycopg.Connection) -> None:
    shown = lines(connection, f"EXPLAIN (FORMAT DOT) CREATE STANDING QUERY q WITH ({EXPECTED}) AS {QUERY}")
    assert (shown[0], shown[-1]) == ("digraph {", "}")
    assert '  0 [label = "public.sales", style = solid, shape = cylinder];' in shown
    assert any(re.fullmatch(r'  0 -> 1 \[label = "pace \d+"\];', line) for line in shown)
    unpaced = lines(connection, f"EXPLAIN (FORMAT DOT) CREATE STANDING QUERY q AS {QUERY}")
    assert "  0 -> 1;" in unpaced and "  1 -> 2;" in unpaced


def test_without_a_goal_or_any_knowledge_of_what_comes(connection: psycopg.Connection) -> None:
    shown = lines(connection, f"EXPLAIN CREATE STANDING QUERY q AS {QUERY}")
    assert "  Schedule:" not in shown
    engines = shown[shown.index("  From scratch:") + 1 : shown.index("  Steps:")]
    assert [line.split(": by ")[0].strip() for line in engines] == ["aggregate 1", "aggregate 2", "result 3"]
    assert all(re.search(r": by (DuckDB|Spark): .+", line) for line in engines)
    steps = shown[shown.index("  Steps:") + 1 :]
    assert steps[:3] == [
        "    aggregate 1:",
        "      1. tallies of the change: changes of public.sales grouped by part, digits",
        "      2. look up its own rows by part, digits of step 1",
    ]
    wished = lines(connection, f"EXPLAIN CREATE STANDING QUERY q WITH (FINAL_WORK = 0.1) AS {QUERY}")
    assert wished[wished.index("  Schedule:") + 1].startswith("    one run, when the trigger fires: how many")
    assert set(engines) <= set(wished)


def test_a_query_that_is_there_shows_engines_and_steps_without_a_goal(
    connection: psycopg.Connection,
) -> None:
    connection.execute(f"CREATE STANDING QUERY plain AS {QUERY} WITH NO DATA".encode())
    shown = lines(connection, "EXPLAIN STANDING QUERY plain")
    assert any(re.search(r"by (DuckDB|Spark)(,.*)?: .+", line) for line in shown)
    assert "      2. look up its own rows by part, digits of step 1" in shown
    [(values,)] = connection.execute("EXPLAIN (FORMAT JSON) STANDING QUERY plain").fetchall()
    found = values if isinstance(values, dict) else json.loads(values)
    assert found["schedule"]["steps"]["aggregate 1"][1] == "2. look up its own rows by part, digits of step 1"


def test_a_goal_that_cannot_be_met_is_warned_of_and_a_query_that_is_there_explained(
    connection: psycopg.Connection,
) -> None:
    said: list[tuple[str | None, str | None]] = []

    def hear(diagnostic: psycopg.errors.Diagnostic) -> None:
        said.append((diagnostic.severity, diagnostic.message_primary))

    connection.add_notice_handler(hear)
    options = "FINAL_WORK = 0.001, EXPECT = 'sales 1000'"
    connection.execute(f"CREATE STANDING QUERY poor WITH ({options}) AS {QUERY} WITH NO DATA".encode())
    [warning] = [message for severity, message in said if severity == "WARNING"]
    assert warning is not None
    assert warning.startswith("the goal cannot be met within MAX_COST = 3: ")
    said.clear()
    connection.execute(f"CREATE STANDING QUERY fine WITH ({EXPECTED}) AS {QUERY} WITH NO DATA".encode())
    assert [message for severity, message in said if severity == "WARNING"] == []
    shown = lines(connection, "EXPLAIN STANDING QUERY fine")
    assert any("public.sales at pace" in line for line in shown)


def test_the_list_of_queries_shows_a_goal_where_it_is_a_share(connection: psycopg.Connection) -> None:
    goals = {"none": "", "share": "WITH (FINAL_WORK = 0.3)", "time": "WITH (LATENCY_GOAL = '5 s')"}
    for name, options in goals.items():
        create = f"CREATE STANDING QUERY goal_{name} {options} AS {QUERY} WITH NO DATA"
        connection.execute(create.encode())
    shown = connection.execute("SELECT name, goal FROM gavial.shown WHERE name LIKE 'goal%'").fetchall()
    assert dict(shown) == {"goal_none": 1.0, "goal_share": 0.3, "goal_time": None}


def test_who_cannot_be_helped_is_told(connection: psycopg.Connection) -> None:
    said: list[str | None] = []
    connection.add_notice_handler(lambda diagnostic: said.append(diagnostic.message_primary))
    connection.execute("CREATE TABLE new (a int)")
    connection.execute(b"CREATE STANDING QUERY none AS SELECT count(*) FROM new WITH NO DATA")
    connection.execute(
        b"CREATE STANDING QUERY blind WITH (FINAL_WORK = 0.1) AS SELECT count(*) FROM new WITH NO DATA"
    )
    connection.execute(
        b"CREATE STANDING QUERY blind_at_first WITH (FINAL_WORK = 0.1, TRIGGER = 'at 06:00') AS "
        b"SELECT count(*) FROM new WITH NO DATA"
    )
    wishes = [
        notice for notice in said if notice is not None and notice.startswith("no early runs are planned")
    ]
    assert wishes == [
        "no early runs are planned: how many rows will arrive before the trigger fires is not known",
        "no early runs are planned until it is known how many rows arrive before the trigger fires",
    ]
