"""The `gavial` command as a user runs it: in a pipe, or at a terminal."""

from __future__ import annotations

import errno
import json
import os
import pty
import subprocess
import sys
from typing import Any

import psycopg

from tests.support.checkout import ROOT

DEADLINE_SECONDS = 180


def run(*arguments: object, given: str = "", status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command where nobody sees it; it must end with this status."""
    done = subprocess.run(
        [sys.executable, "-m", "gavial", *map(str, arguments)],
        input=given,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def values(*arguments: object, status: int = 0) -> Any:
    """What the command prints with --json, and that nothing else is on standard output."""
    return json.loads(run(*arguments, "--json", status=status).stdout)


def at_terminal(*command: str, columns: int = 120) -> tuple[int, str]:
    """The status of a program that has a terminal for all its output, and what it prints there."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": "40"}
        os.execve(command[0], command, environment)
    printed = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError as error:
            assert error.errno == errno.EIO  # the program has ended
            break
        if not piece:
            break
        printed += piece
    os.close(terminal)
    _process, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), printed.decode()


def fetched(connection: psycopg.Connection, query: str) -> Any:
    """The only value of a query's only row."""
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]
