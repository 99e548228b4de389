"""Commands that operate a server, and what all do at a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.support.running import servers
from tests.support.running.command_line import at_terminal, fetched, run, values
from tests.support.running.standing_databases import session

pytestmark = pytest.mark.service


def test_at_a_terminal_top_is_live_and_tables_fit(data: tuple[str, Path]) -> None:
    gavial = (sys.executable, "-m", "gavial")
    status, printed = at_terminal(*gavial, "top", *map(str, data), "--count", "2", "--interval", "0.2")
    assert status == 0
    assert "last hour" in printed and "\x1b[" in printed
    status, printed = at_terminal(*gavial, "queries", *map(str, data), columns=70)
    assert status == 0
    assert "totals" in printed


def test_what_lasts_is_shown_at_a_terminal_alone() -> None:
    program = (
        "import time\nfrom proxy.command.output.progress import said, working\n"
        "with working('doing it'):\n    time.sleep(2.5)\n    said('NOTICE:  so it is')\nprint('done')"
    )
    status, printed = at_terminal(sys.executable, "-c", program)
    assert status == 0
    assert "doing it" in printed and "NOTICE:  so it is" in printed and "done" in printed
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=os.getcwd()
    )
    assert (done.stdout, done.stderr) == ("done\n", "NOTICE:  so it is\n")


def test_doctor_looks_at_what_runs(server: servers.Gavial, data: tuple[str, Path]) -> None:
    findings = values("doctor", *data)
    assert {finding["what"] for finding in findings} >= {
        "Gavial",
        "disk",
        "Java",
        "running",
        "clock",
        "coordinator",
        "capture",
        "slot",
        "queries",
    }
    assert not [finding for finding in findings if finding["status"] == "missing"]
    shown = run("doctor", "--url", server.url).stdout
    assert "ok      coordinator     at work on this database\n" in shown
    assert "disk" not in shown


def test_doctor_without_a_server_at_a_url() -> None:
    failed = run("doctor", "--url", "postgresql://localhost:1/x", status=1)
    assert failed.stdout.startswith("missing running")
    assert "Start" not in failed.stderr


def test_a_postgresql_is_no_gavial(postgres18: servers.Server) -> None:
    refused = run("status", "--url", postgres18.dsn(), status=1)
    assert "is a PostgreSQL, and no Gavial" in refused.stderr


def test_the_shell_completes_names(server: servers.Gavial) -> None:
    def completed(line: str, server_is_there: bool = True) -> list[str]:
        environment = {
            **os.environ,
            "_GAVIAL_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        }
        done = subprocess.run(
            [sys.executable, "-m", "gavial"], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr == "" or not server_is_there
        return [word.partition(",")[2] for word in done.stdout.splitlines() if word]

    assert set(completed("gavial re")) == {"refresh", "resume"}
    assert "--older-than" in completed("gavial warehouse gc --o")
    assert completed(f"gavial show --data {server.data} tot") == ["totals"]
    assert "public.totals" in completed(f"gavial plan --url {server.url} pub")
    assert completed("gavial show --data /nowhere tot", server_is_there=False) == []


def test_warehouse(data: tuple[str, Path], server: servers.Gavial, connection: psycopg.Connection) -> None:
    installation = str(fetched(connection, "SELECT id FROM gavial.installation"))
    folder = server.data / "warehouse" / installation
    found = values("warehouse", "check", *data)
    assert [(it["database"], it["installation"], it["damaged"]) for it in found["databases"]] == [
        (fetched(connection, "SELECT current_database()"), installation, [])
    ]
    named = next(folder.glob("table-*/*.parquet"))
    old, new = (named.with_name(f"{number:016x}-{'0' * 31}{number}.parquet") for number in (1, 2))
    for file in (old, new):
        file.write_bytes(named.read_bytes())
    two_days_ago = time.time() - 2 * 86400
    os.utime(old, (two_days_ago, two_days_ago))
    os.utime(named, (two_days_ago, two_days_ago))
    of_nobody = folder.with_name("00000000-0000-0000-0000-00000000000a") / "table-1"
    of_nobody.mkdir(parents=True)
    (of_nobody / old.name).write_bytes(b"x" * 100)

    shown = run("warehouse", "check", "--quick", *data).stdout
    assert "is of no database of this server" in shown
    assert "1 would be removed" in run("warehouse", "gc", "--dry-run", *data).stdout
    assert old.exists()
    removed = values("warehouse", "gc", *data)["removed"]
    assert list(removed) == [f"{installation}/{old.parent.name}/{old.name}"]
    assert (old.exists(), new.exists(), named.exists()) == (False, True, True)
    new.unlink()

    refused = run("warehouse", "gc", "--installation", installation, *data, status=1)
    assert "is that of database" in refused.stderr
    run("warehouse", "gc", "--installation", of_nobody.parent.name, *data)
    assert not of_nobody.parent.exists()
    assert "Name it with --warehouse" in run("warehouse", "check", "--url", server.url, status=1).stderr
    run("warehouse", "check", "--url", server.url, "--warehouse", server.data / "warehouse")


def test_a_damaged_file_is_found(
    data: tuple[str, Path], server: servers.Gavial, connection: psycopg.Connection
) -> None:
    file = fetched(
        connection, "SELECT file FROM gavial.batches WHERE buffer LIKE 'table-%' ORDER BY rows DESC LIMIT 1"
    )
    installation = fetched(connection, "SELECT id FROM gavial.installation")
    path = server.data / "warehouse" / str(installation) / file
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    try:
        run("warehouse", "check", "--quick", *data)
        shown = run("warehouse", "check", *data, status=1).stdout
        assert f"batch {file} is not what was written" in shown
        path.write_bytes(content[:-1])
        assert "in place of" in run("warehouse", "check", "--quick", *data, status=1).stdout
    finally:
        path.write_bytes(content)
    run("warehouse", "check", *data)


def test_of_a_copied_database_nothing_is_looked_at_or_removed(
    data: tuple[str, Path], server: servers.Gavial, connection: psycopg.Connection
) -> None:
    name = fetched(connection, "SELECT current_database()")
    dumped = run("psql", *data, "-XAtc", "SELECT id FROM gavial.installation").stdout.strip()
    with session(server.dsn(dbname="postgres")) as admin:
        admin.execute("CREATE DATABASE copied")
    with session(server.dsn(dbname="copied")) as copied:
        copied.execute("SHOW gavial.version")
        copied.execute("UPDATE gavial.installation SET id = %s, database = 1", (dumped,))
    found = values("warehouse", "check", *data)
    assert [it["database"] for it in found["databases"]] == [name]
    assert values("warehouse", "gc", *data)["removed"] == {}


def test_calibrate_teaches_and_leaves_nothing(data: tuple[str, Path], connection: psycopg.Connection) -> None:
    found = values("calibrate", "--rows", "10000", *data)
    assert found["before"] and all(accuracy["ratio"] > 0 for accuracy in found["before"])
    assert fetched(connection, "SELECT to_regnamespace('gavial_calibration')") is None
    assert {engine["engine"] for engine in found["engines"]} >= {"DuckDB"}
    connection.execute("CREATE SCHEMA gavial_calibration")
    try:
        refused = run("calibrate", *data, status=1)
        assert "that gavial calibrate did not make" in refused.stderr
    finally:
        connection.execute("DROP SCHEMA gavial_calibration")


def test_demo(server: servers.Gavial) -> None:
    with session(server.dsn()) as admin:
        admin.execute("CREATE DATABASE demonstration")
    where = ("--url", server.url, "--database", "demonstration")
    shown = values("demo", *where)
    assert [query["name"] for query in shown] == ["open_orders", "by_status", "idle_customers"]
    assert all(len(query["refresh_seconds"]) == 3 for query in shown)
    again = run("demo", *where)
    assert "demo: found TPC-H at scale 0.01\n" in again.stdout
    assert again.stderr == ""


def test_install(server: servers.Gavial) -> None:
    assert values("install", "--upstream", server.url) == {"lacks": []}
    assert run("install", "--upstream", server.url).stdout == ""
