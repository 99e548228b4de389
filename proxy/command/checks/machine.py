"""What this machine has of what Gavial needs."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Final, TypeAlias

from catalog.errors import ConfigurationError
from catalog.version import VERSION
from coordinator.embedded.account import server_account
from coordinator.embedded.binaries import binaries_for
from coordinator.embedded.cluster import major_version
from coordinator.embedded.home import NAME as HOME
from coordinator.embedded.ports import is_free
from coordinator.embedded.reach import can_enter
from coordinator.embedded.system import DEFAULT, VARIABLE
from dialect.statements.sizes import size_text
from executors.java import OLDEST, find_java
from executors.machine import default_memory, memory_bytes
from proxy.command.checks.findings import Finding, Status
from proxy.processes.data_directory import in_use

_PORT: Final = 5433
_NEEDED_BYTES: Final = 200 * 10**6
_COMFORTABLE_BYTES: Final = 2 * 10**9


Checks: TypeAlias = tuple[tuple[str, Callable[[Path], Finding]], ...]


def examine_machine(data: Path, *, embedded: bool = True) -> tuple[Finding, ...]:
    """Look for everything `gavial serve` needs of this machine; nothing is changed.

    `embedded`: PostgreSQL is to be one of Gavial's own.
    """
    checks: Checks = (
        ("Gavial", examine_gavial),
        ("Python", examine_python),
        ("disk", examine_disk),
        ("data directory", examine_data),
        *((("PostgreSQL", examine_postgres), ("account", examine_account)) if embedded else ()),
        ("port", examine_port),
        ("memory", examine_memory),
        ("PySpark", examine_pyspark),
        ("Java", examine_java),
    )
    return tuple(attempt(what, check, data.absolute()) for what, check in checks)


def attempt(what: str, check: Callable[[Path], Finding], data: Path) -> Finding:
    """A check's finding; what would keep `gavial serve` from starting is missing."""
    try:
        return check(data)
    except ConfigurationError as error:
        detail = f": {error.detail}" if error.detail else ""
        return Finding(Status.MISSING, what, f"{error.message}{detail}", error.hint or "")
    except OSError as error:
        return Finding(Status.MISSING, what, f"{error.filename}: {error.strerror}")


def examine_gavial(_data: Path) -> Finding:
    """The version of this program."""
    return Finding(Status.OK, "Gavial", VERSION)


def examine_python(_data: Path) -> Finding:
    """The interpreter that runs this."""
    return Finding(Status.OK, "Python", f"{platform.python_version()}, {sys.executable}")


def examine_disk(data: Path) -> Finding:
    """Free space where the data directory is, or would be."""
    place = nearest(data)
    free = shutil.disk_usage(place).free
    finding_text = f"{free / 10**9:.1f} GB free in {place}"
    if free < _NEEDED_BYTES:
        return Finding(Status.MISSING, "disk", finding_text, "a new database alone takes 0.1 GB")
    if free < _COMFORTABLE_BYTES:
        return Finding(Status.WARN, "disk", finding_text, "enough to start, not to work")
    return Finding(Status.OK, "disk", finding_text)


def examine_data(data: Path) -> Finding:
    """State and mode of the data directory."""
    if not data.exists():
        if not os.access(nearest(data), os.W_OK | os.X_OK):
            return Finding(
                Status.MISSING, "data directory", f"{data} cannot be made", "choose another with --data"
            )
        return Finding(Status.OK, "data directory", f"{data} does not exist yet")
    mode = stat.S_IMODE(data.stat().st_mode)
    finding_text = f"{data}, mode {mode:04o}, {'in use' if in_use(data) else 'not in use'}"
    if mode & (stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH):
        return Finding(
            Status.WARN, "data directory", finding_text, f"others can look into it, so: chmod go-rw '{data}'"
        )
    return Finding(Status.OK, "data directory", finding_text)


def examine_postgres(data: Path) -> Finding:
    """The server's programs: those of the version that made the database, or the best there are."""
    cluster = data / HOME / "cluster"
    binaries = binaries_for(cluster, major_version(cluster))
    return Finding(Status.OK, "PostgreSQL", f"{binaries.version}, {binaries.directory} ({binaries.origin})")


def examine_account(data: Path) -> Finding:
    """The account the server runs as, and where its files will be."""
    account, place = server_account(), nearest(data)
    if account.uid == os.geteuid():
        return Finding(Status.OK, "account", f"{account.name}, as this command")
    files = data if can_enter(account, place) else os.environ.get(VARIABLE, DEFAULT)
    return Finding(Status.OK, "account", f"{account.name}, with its files in {files}")


def examine_port(data: Path) -> Finding:
    """The port that is taken when none is named."""
    if is_free(_PORT):
        return Finding(Status.OK, "port", f"{_PORT} is free")
    user = "perhaps by the gavial of this data directory" if in_use(data) else "by another program"
    return Finding(Status.WARN, "port", f"{_PORT} is taken, {user}", "choose another with --port")


def examine_memory(_data: Path) -> Finding:
    """The memory of the machine, and what Spark takes of it unless told otherwise."""
    machine, spark = memory_bytes(), default_memory()
    finding_text = f"{size_text(machine >> 20 << 20)}, of which Spark takes {size_text(spark >> 20 << 20)}"
    if machine < 2 * spark:
        return Finding(Status.WARN, "memory", finding_text, "there is little left for PostgreSQL")
    return Finding(Status.OK, "memory", finding_text)


def examine_pyspark(_data: Path) -> Finding:
    """The package, and the shell its launcher is written for."""
    if not shutil.which("bash"):
        return Finding(
            Status.MISSING, "PySpark", "bash, which Spark is started by, is not on PATH", "install bash"
        )
    return Finding(Status.OK, "PySpark", metadata.version("pyspark"))


def examine_java(_data: Path) -> Finding:
    """The Java that Spark would run on, and those it would not."""
    search = find_java(os.environ)
    refused = "; ".join(f"{refusal.origin}: {refusal.reason}" for refusal in search.refused)
    if search.java is None:
        return Finding(Status.MISSING, "Java", refused, f"install Java {OLDEST} or newer, or set JAVA_HOME")
    java = search.java
    return Finding(Status.OK, "Java", f"{java.version}, {java.home} ({java.origin})", refused)


def nearest(path: Path) -> Path:
    """The path itself, or the nearest directory above it that exists."""
    return next(place for place in (path, *path.parents) if place.exists())
