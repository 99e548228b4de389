"""The client programs that tests run; a missing one is a failure that names it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.servers import binaries_of

SOURCES = Path(__file__).parent
TOOLS = Path(sys.prefix) / "tools"
DEADLINE_SECONDS = 120
PROVIDED = "`scripts/setup --tests` provides it"


def postgres_program(name: str, major: int) -> str:
    """One of PostgreSQL's own clients, of a given major version."""
    program = binaries_of(major).program(name)
    assert program.exists(), f"missing: {name} of PostgreSQL {major}"
    return str(program)


def system_program(name: str) -> str:
    """A program of the system's."""
    program = shutil.which(name)
    assert program is not None, f"missing: {name}"
    return program


def jdbc_driver() -> Path:
    """PostgreSQL's JDBC driver."""
    jar = TOOLS / "jdbc" / "postgresql.jar"
    assert jar.exists(), f"missing: {jar}; {PROVIDED}"
    return jar


def node_modules() -> Path:
    """The folder that holds node-postgres."""
    modules = TOOLS / "node" / "node_modules"
    assert modules.is_dir(), f"missing: {modules}; {PROVIDED}"
    return modules


def run(
    *command: str | Path,
    script: str = "",
    directory: Path | None = None,
    environment: Mapping[str, str] = {},
    status: int | None = 0,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; fails, with what it said, on another status than the one expected."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        command,
        input=script,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        cwd=directory,
        env={**inherited, "LC_ALL": "C.UTF-8", **environment},
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done
