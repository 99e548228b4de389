from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product.clients.programs import postgres_program
from tests.support.checkout import ROOT
from tests.support.console_sessions import exchanges, is_as_shown

PROGRAM = ROOT / "scripts" / "demonstrate.py"
GAVIAL = Path(sys.executable).parent / "gavial"
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "goals.md")
DEADLINE_SECONDS = 300

pytestmark = pytest.mark.service


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that the server's account can pass through."""
    with tempfile.TemporaryDirectory(prefix="gavial-test-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        monkeypatch.setenv("GAVIAL_SYSTEM_DIR", str(directory / "system"))
        yield directory


def demonstration(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str], beginning: str) -> str:
    """The next line with this beginning."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line
    raise AssertionError(f"ended without saying {beginning}: {process.communicate()}")


def run_sessions(document: Path, data: Path) -> None:
    """What a document types at psql's prompt does what it shows, after what `scripts/run` has done."""
    url = subprocess.run([GAVIAL, "url", "--data", data], capture_output=True, text=True, check=True).stdout
    psql = (postgres_program("psql", 18), "--no-psqlrc", "--pset=pager=off", url.strip(), "--command")
    typed = exchanges(document)
    assert typed, document
    for exchange in typed:
        done = subprocess.run([*psql, exchange.statement], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{exchange.statement}\n{done.stderr}"
        assert {"DETAIL:", "HINT:"}.isdisjoint(map(str.strip, done.stderr.splitlines())), done.stderr
        shown = "\n".join(exchange.printed)
        assert is_as_shown(exchange.printed, done.stdout.splitlines()), f"{shown}\nis\n{done.stdout}"


def test_it_stays_until_it_is_told_to_stop_and_finds_its_tables_again(directory: Path) -> None:
    data = directory / "with a blank"
    staying = demonstration("--data", data, "--port", 0)
    assert "row by row" in said(staying, "demo: every result")
    assert f"'{data}'" in said(staying, "run: connect:")
    for document in DOCUMENTS:
        run_sessions(document, data)
    staying.send_signal(signal.SIGTERM)
    assert staying.communicate(timeout=DEADLINE_SECONDS)[1] == ""
    assert staying.returncode == 0

    once = demonstration("--data", data, "--once")
    output, errors = once.communicate(timeout=DEADLINE_SECONDS)
    assert (once.returncode, errors) == (0, "")
    assert "demo: found TPC-H at scale 0.01" in output
    assert "row by row" in output


def test_a_port_that_is_taken_is_said_in_one_line(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = demonstration("--data", directory / "data", "--port", port, "--once")
        output, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, output) == (1, "")
    assert len(errors.splitlines()) == 1
    assert str(port) in errors
