"""psql through Gavial prints what it prints on PostgreSQL itself."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from tests.product.clients.programs import DEADLINE_SECONDS, SOURCES, postgres_program, run
from tests.support.running.servers import wait_until

pytestmark = pytest.mark.service

OPTIONS = ("--no-psqlrc", "--pset=pager=off")
ROWS = 100_000


class Said(NamedTuple):
    """What psql printed, without the numbers that differ from run to run."""

    output: str
    errors: str


@pytest.fixture(params=[15, 18], ids=["psql15", "psql18"])
def psql(request: pytest.FixtureRequest) -> str:
    return postgres_program("psql", request.param)


def said(psql: str, dsn: str, script: str, directory: Path) -> Said:
    done = run(psql, *OPTIONS, dsn, script=script, directory=directory)
    return Said(re.sub(r"with PID \d+", "with PID", done.stdout), done.stderr)


@pytest.mark.parametrize("script", ["describe.sql", "statements.sql"])
def test_script_prints_the_same(psql: str, both: tuple[str, str], script: str, tmp_path: Path) -> None:
    text = (SOURCES / "psql" / script).read_text()
    direct, through = (said(psql, dsn, text, tmp_path) for dsn in both)
    assert through == direct
    assert "could not connect" not in direct.errors


def test_script_with_binds_and_pipelines_prints_the_same(both: tuple[str, str], tmp_path: Path) -> None:
    text = (SOURCES / "psql" / "newer.sql").read_text()
    direct, through = (said(postgres_program("psql", 18), dsn, text, tmp_path) for dsn in both)
    assert through == direct
    assert "invalid command" not in direct.errors


def test_copy_of_a_file_in_and_out(psql: str, dsn: str, tmp_path: Path) -> None:
    lines = "".join(f"{n}\tline {n}\n" for n in range(ROWS))
    (tmp_path / "in").write_text(lines)
    script = """
        create temp table copied (n int, line text);
        \\copy copied from 'in'
        \\copy copied to 'out'
        \\copy (select line, n from copied order by n limit 2) to stdout with (format csv)
        \\copy copied from 'absent'
        \\copy copied (n) from program 'echo one'
        """
    printed = said(psql, dsn, script, tmp_path)
    assert (tmp_path / "out").read_text() == lines
    assert f"COPY {ROWS}\nCOPY {ROWS}\nline 0,0\nline 1,1\n" in printed.output
    assert "absent: No such file" in printed.errors
    assert 'invalid input syntax for type integer: "one"' in printed.errors


def test_large_object_of_a_file_in_and_out(psql: str, dsn: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    (tmp_path / "in").write_bytes(content)
    script = "\\lo_import in 'a comment'\n\\lo_export :LASTOID out\n\\lo_unlink :LASTOID\n"
    printed = said(psql, dsn, script, tmp_path)
    assert (tmp_path / "out").read_bytes() == content
    assert re.fullmatch(r"lo_import \d+\nlo_export\nlo_unlink \d+\n", printed.output)


@pytest.fixture
def terminal(psql: str, dsn: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """psql as on a terminal, where an interrupt ends a statement and not psql."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [psql, *OPTIONS, "--no-readline", dsn], stdin=its, stdout=its, stderr=its, start_new_session=True
    )
    os.close(its)
    guard = threading.Timer(DEADLINE_SECONDS, process.kill)
    guard.start()
    yield process, ours
    guard.cancel()
    process.kill()
    process.wait()
    os.close(ours)


def rest_of(screen: int) -> str:
    """What is shown until the program at the terminal ends, which Linux reports as an error."""
    shown = b""
    with suppress(OSError):
        while block := os.read(screen, 4096):
            shown += block
    return shown.decode().replace("\r\n", "\n")


def test_interrupt_cancels_the_statement_and_the_session_goes_on(
    terminal: tuple[subprocess.Popen[bytes], int], dsn: str
) -> None:
    process, screen = terminal
    os.write(screen, b"select pg_sleep(600);\n")
    asleep = (
        "select count(*) from pg_stat_activity where application_name = 'psql' and wait_event = 'PgSleep'"
    )
    with psycopg.connect(dsn, autocommit=True) as watcher:
        wait_until(lambda: watcher.execute(asleep).fetchone() == (1,), "psql does not sleep")
    process.send_signal(signal.SIGINT)
    os.write(screen, b"\\echo :SQLSTATE\nselect 40 + 2 as answer;\n\\q\n")
    shown = rest_of(screen)
    assert process.wait() == 0
    assert re.search(
        r"ERROR:  canceling statement due to user request\n.*57014\n.*42\n\(1 row\)", shown, re.DOTALL
    )
