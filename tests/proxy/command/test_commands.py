"""Commands that look at standing queries and act on them: both forms of output, and errors."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import psycopg
import pytest

from catalog.version import VERSION
from tests.proxy.command.conftest import QUERIES
from tests.support.running import servers
from tests.support.running.command_line import fetched, run, values

pytestmark = pytest.mark.service

NAMES = ["other.Large Sales", "public.totals"]


def test_url_and_psql(server: servers.Gavial, data: tuple[str, Path]) -> None:
    assert run("url", *data).stdout.strip() == server.url == values("url", *data)["url"]
    assert run("psql", *data, "-X", "-Atc", "SHOW gavial.version").stdout == f"{VERSION}\n"
    assert run("psql", *data, "--", "-X", "-At", given="SELECT 1 + 1").stdout == "2\n"
    assert run("psql", "--url", server.url, "--database", "template1", "-XAtc", "SELECT current_database()")
    assert "does not exist" in run("psql", *data, "-Xc", "SELECT 1 FROM nowhere", status=1).stderr


def test_status(server: servers.Gavial, data: tuple[str, Path]) -> None:
    found = values("status", *data)
    assert found["version"] == VERSION
    assert (found["capture"], found["tables"]) == ("running", 1)
    assert sum(found["queries"].values()) == len(QUERIES)
    assert found["max_wal"] > 0
    shown = run("status", "--url", server.url).stdout
    assert shown.startswith(f"Gavial       {VERSION}\n")
    assert "Coordinator  at work\n" in shown
    assert "Tables       1 captured\n" in shown


def test_a_login_without_rights_sees_how_it_stands_and_changes_nothing(server: servers.Gavial) -> None:
    url = server.dsn(user="reader", password="reader")
    assert values("status", "--url", url)["login"] == "reader"
    assert [f"{query['schema']}.{query['name']}" for query in values("queries", "--url", url)] == NAMES
    for command in ("states", "top", "show totals", "history totals"):
        run(*command.split(), "--url", url)
    refused = run("suspend", "totals", "--url", url, status=1)
    assert refused.stderr.startswith("ERROR:  must be owner of standing query totals")
    assert (
        "ERROR:  permission denied"
        in run("plan", "totals", "--url", url, "--set", "EXPECT=sales 1", status=1).stderr
    )


def test_queries(data: tuple[str, Path], connection: psycopg.Connection) -> None:
    large, totals = values("queries", *data)
    assert (totals["name"], totals["goal"], totals["trigger"]) == ("totals", 0.9, "at 06:00")
    assert (large["name"], large["goal"], large["next_trigger"]) == ("Large Sales", 1, None)
    due = fetched(connection, "SELECT due FROM gavial.standing_queries WHERE name = 'totals'")
    assert totals["next_trigger"] == due.isoformat()
    lines = run("queries", *data).stdout.splitlines()
    assert [cell.strip() for cell in lines[0].split("|")][:3] == ["name", "status", "trigger"]
    assert [line.split("|")[0].strip() for line in lines[2:]] == NAMES
    assert "position" not in lines[0]
    assert "position" in run("queries", "--verbose", *data).stdout.splitlines()[0]


def test_show_and_history(data: tuple[str, Path], connection: psycopg.Connection) -> None:
    found = values("show", "totals", *data)
    assert found["text"] == QUERIES[0].partition(" AS ")[2]
    assert found["options"]["FINAL_WORK"] == "0.9"
    assert {part["reads"] for part in found["parts"]} >= {"public.sales"}
    shown = run("show", "PUBLIC.Totals", *data).stdout
    assert "Name            public.totals\n" in shown
    assert "\nSELECT kind, sum(amount) AS total" in shown
    assert "other.Large Sales" in run("show", 'other."Large Sales"', *data).stdout

    fired = values("history", "totals", *data, "--last", "1")
    assert len(fired) == 1
    newest = fetched(
        connection,
        "SELECT max(t.fired) FROM gavial.triggers t JOIN gavial.standing_queries s "
        "ON s.id = t.query_id WHERE s.name = 'totals'",
    )
    assert fired[0]["fired"] == newest.isoformat()
    assert run("history", "totals", *data).stdout.startswith("trigger ")


@pytest.mark.parametrize("command", ["history", "plan", "curve", "refresh", "suspend", "resume", "verify"])
def test_a_query_that_is_not_there(data: tuple[str, Path], command: str) -> None:
    assert run(command, "nowhere", *data, status=1).stderr == (
        'ERROR:  standing query "nowhere" does not exist\n'
        "HINT:  SHOW STANDING QUERIES lists the standing queries of this database.\n"
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sales", 'ERROR:  "sales" is not a standing query\n'),
        ("a b", 'ERROR:  string is not a valid identifier: "a b"\n'),
        ("totals; DROP TABLE sales", "ERROR:  string is not a valid identifier: "),
    ],
)
def test_a_wrong_name_is_told_as_postgresql_tells_it(data: tuple[str, Path], name: str, says: str) -> None:
    failed = run("show", name, *data, status=1)
    assert failed.stdout == ""
    assert failed.stderr.startswith(says)


def test_plan_of_a_query_that_is_there(data: tuple[str, Path], tmp_path: Path) -> None:
    text = run("plan", "totals", *data).stdout
    for title in ("Bound query", "Logical plan", "Delta plan", "Looked up", "Schedule", "Curve"):
        assert f"  {title}:\n" in text
    assert "    public.sales: 3000 rows, as EXPECT says\n" in text
    assert re.search(r"^  Next trigger: \S+ 06:00:00\S*$", text, re.MULTILINE)
    assert run("plan", "totals", *data).stdout == text
    brief = run("plan", "--brief", "totals", *data).stdout
    assert "Delta plan" not in brief and "  Schedule:\n" in brief
    found = values("plan", "totals", *data)
    assert found["standing_query"] == "public.totals"
    assert found["schedule"]["phases"]["delta_plan"][0].startswith("0 table public.sales")
    assert found["schedule"]["looked_up"] and found["schedule"]["subplans"]
    file = tmp_path / "plan.json"
    assert run("plan", "totals", *data, "--format", "json", "--output", file).stdout == ""
    assert '"standing_query": "public.totals"' in file.read_text()
    assert run("plan", "totals", *data, "--format", "dot").stdout.startswith("digraph {\n")
    svg = run("plan", "totals", *data, "--format", "svg")
    assert svg.stderr == ""
    texts = [
        text.text for text in ElementTree.fromstring(svg.stdout).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert "public.sales" in texts and any(text and text.startswith("pace ") for text in texts)


def test_phases_are_there_where_nothing_is_known_of_what_comes(data: tuple[str, Path]) -> None:
    found = values("plan", 'other."Large Sales"', *data)
    assert "logical_plan" in found["schedule"]["phases"]


def test_plan_and_curve_of_a_file_create_nothing(
    data: tuple[str, Path], tmp_path: Path, connection: psycopg.Connection
) -> None:
    relations = "SELECT array_agg(oid ORDER BY oid) FROM pg_class"
    before = fetched(connection, relations)
    select = tmp_path / "select.sql"
    select.write_text("SELECT kind, max(amount)\nFROM sales\nGROUP BY kind;\n")
    create = tmp_path / "create.sql"
    create.write_text(
        "-- one\nCREATE STANDING QUERY q WITH (FINAL_WORK = 0.5, EXPECT = 'sales 30000') AS\n"
        "SELECT kind, max(amount) FROM sales GROUP BY kind;\n"
    )
    assert values("plan", select, *data)["reads"] == ["public.sales"]
    assert values("plan", create, *data)["options"]["FINAL_WORK"] == "0.5"
    curve = values("curve", select, *data, "--set", "EXPECT=sales 30000", "--set", "final_work=0.5")
    assert curve["steps"][0]["final_work"] == 1
    assert (curve["goal"], values("curve", create, *data)["goal"]) == (0.5, 0.5)
    assert run("plan", "-", *data, given="SELECT id FROM sales").stdout.startswith("Standing query")
    assert fetched(connection, relations) == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "SELECT kind,\n  sum(amuont)\nFROM sales GROUP BY 1",
            ('column "amuont" does not exist', "LINE 2:   sum(amuont)", 15),
        ),
        (
            "-- x\nCREATE STANDING QUERY q AS\nSELECT rank() OVER () FROM sales",
            ("cannot maintain", "LINE 3:", 16),
        ),
        ("CREATE STANDING QUERY q WITH (FINAL = 2) AS SELECT 1", ("unrecognized option", "LINE 1:", None)),
        ("SELECT 'x", ("unterminated quoted string", "LINE 1:", 16)),
    ],
)
def test_an_error_in_a_file_is_shown_at_its_place_there(
    data: tuple[str, Path], tmp_path: Path, text: str, says: tuple[str, str, int | None]
) -> None:
    message, line, caret = says
    file = tmp_path / "query.sql"
    file.write_text(text)
    for command in ("plan", "curve"):
        lines = run(command, file, *data, status=1).stderr.splitlines()
        assert lines[0].startswith("ERROR:  ") and message in lines[0]
        assert lines[1].startswith(line)
        assert caret is None or lines[2].index("^") == caret - 1


def test_files_that_cannot_be_read_and_what_is_no_query(data: tuple[str, Path], tmp_path: Path) -> None:
    assert "cannot read" in run("plan", tmp_path / "none.sql", *data, status=1).stderr
    binary = tmp_path / "binary.sql"
    binary.write_bytes(b"\xff\xfe")
    assert "it is not UTF-8" in run("plan", binary, *data, status=1).stderr
    assert "nothing else" in run("plan", "-", *data, given="DROP TABLE sales", status=1).stderr
    assert "nothing else" in run("plan", "-", *data, given="SELECT 1; DROP TABLE sales", status=1).stderr
    target = tmp_path / "nowhere" / "plan.svg"
    assert "cannot write" in run("plan", "totals", *data, "--output", target, status=1).stderr


def test_curve(data: tuple[str, Path], tmp_path: Path) -> None:
    shown = run("curve", "totals", *data).stdout.splitlines()
    assert shown[0].startswith("final work | total work |")
    assert any("— the goal" in line for line in shown)
    assert any("← used" in line for line in shown)
    found = values("curve", "totals", *data)
    finals = [step["final_work"] for step in found["steps"]]
    assert finals == sorted(finals, reverse=True)
    picture = tmp_path / "curve.svg"
    run("curve", "totals", *data, "--format", "svg", "--output", picture)
    assert "goal: 90 %" in picture.read_text()
    other = values("curve", "totals", *data, "--set", "FINAL_WORK=0.7")
    assert other["goal"] == 0.7


def test_a_curve_needs_to_know_what_comes(data: tuple[str, Path], connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE quiet (a int)")
    try:
        refused = run("curve", "-", *data, given="SELECT count(*) FROM quiet", status=1)
        assert refused.stderr.startswith("gavial: there is no curve: ")
        assert "--set 'EXPECT=" in refused.stderr
        run("curve", "-", *data, "--set", "EXPECT=quiet 10", given="SELECT count(*) FROM quiet")
    finally:
        connection.execute("DROP TABLE quiet")


def test_refresh_makes_results_new(data: tuple[str, Path], connection: psycopg.Connection) -> None:
    before = fetched(connection, "SELECT sum(number) FROM totals")
    connection.execute("INSERT INTO sales SELECT max(id) + 1, 3, 5000 FROM sales")
    done = run("refresh", "totals", 'other."Large Sales"', *data)
    assert done.stdout.startswith("REFRESH STANDING QUERY (")
    assert fetched(connection, "SELECT sum(number) FROM totals") == before + 1
    positions = fetched(connection, "SELECT count(DISTINCT position) FROM gavial.standing_queries")
    assert positions == 1
    [refreshed] = values("refresh", "totals", *data)
    assert (refreshed["names"], refreshed["tag"]) == (["totals"], "REFRESH STANDING QUERY")
    assert refreshed["seconds"] > 0


def test_suspend_and_resume_all_or_none(data: tuple[str, Path]) -> None:
    def statuses() -> dict[str, str]:
        return {query["name"]: query["status"] for query in values("queries", *data)}

    run("suspend", "totals", "nowhere", *data, status=1)
    assert statuses()["totals"] == "active"
    run("suspend", "totals", 'other."Large Sales"', *data)
    assert set(statuses().values()) == {"suspended"}
    resumed = values("resume", "totals", 'other."Large Sales"', *data)
    assert [statement["tag"] for statement in resumed] == ["ALTER STANDING QUERY"] * 2
    run("refresh", "totals", 'other."Large Sales"', *data)
    assert set(statuses().values()) == {"active"}


def test_verify(data: tuple[str, Path], connection: psycopg.Connection) -> None:
    assert "totals: no row differs (" in run("verify", "totals", *data).stdout
    compared = values("verify", "--all", *data)
    assert [(query["name"], query["differences"]) for query in compared] == [(name, []) for name in NAMES]
    run("verify", "totals", "--using", "postgres", *data)
    tamper = "SET session_replication_role = replica; UPDATE totals SET number = number {} 1 WHERE kind = 3; "
    connection.execute((tamper.format("+") + "RESET session_replication_role").encode())
    try:
        shown = run("verify", "totals", *data, status=1).stdout
        assert "totals: 2 rows differ" in shown
        sides = {row["side"] for row in values("verify", "totals", *data, status=1)[0]["differences"]}
        assert sides == {"missing", "superfluous"}
    finally:
        connection.execute((tamper.format("-") + "RESET session_replication_role").encode())


def test_states_and_top(data: tuple[str, Path]) -> None:
    kept = values("states", *data)
    shown = run("states", *data).stdout
    assert shown.startswith("rows of " if kept else "Nothing is kept")
    looked = values("top", *data)
    assert {work["query"] for work in looked["last_hour"]} == {"totals", 'other."Large Sales"'}
    shown = run("top", *data, "--count", "2", "--interval", "0.2").stdout
    assert shown.count("last hour") == 2
