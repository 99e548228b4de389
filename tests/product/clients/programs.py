"""The client programs that tests run; a missing one is a failure that names it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict

from tests.support.running.servers import binaries_of

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


def printed_by_node(program: str, dsn: str, *arguments: str) -> str:
    """What a program of `node/` prints; Node looks for packages from the folder it runs in."""
    source = (SOURCES / "node" / program).read_text()
    command = (system_program("node"), "--input-type=module", "-", dsn, *arguments)
    return run(*command, script=source, directory=node_modules().parent).stdout


def compiled(target: Path) -> Path:
    """The folder with the compiled programs of `java/`."""
    sources = sorted((SOURCES / "java").glob("*.java"))
    run(system_program("javac"), "-Xlint:all", "-Werror", "-cp", jdbc_driver(), "-d", target, *sources)
    return target


def printed_by_java(classes: Path, program: str, dsn: str, *arguments: str) -> str:
    """What a program of `java/` prints."""
    url = jdbc_url(dsn)
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", f"-Dwatcher={url}")
    path = f"{classes}:{jdbc_driver()}"
    return run(system_program("java"), *quick, "-cp", path, program, url, *arguments).stdout


def jdbc_url(dsn: str) -> str:
    """The URL by which the JDBC driver connects; without TLS unless the DSN asks for it."""
    fields = conninfo_to_dict(dsn)
    query = {
        "user": fields["user"],
        "password": fields["password"],
        "sslmode": fields.get("sslmode", "disable"),
    }
    return f"jdbc:postgresql://{fields['host']}:{fields['port']}/{fields['dbname']}?{urlencode(query)}"
