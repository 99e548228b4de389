"""One database cluster on disk: made completely or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import ConfigurationError
from coordinator.embedded.account import Account
from coordinator.embedded.binaries import Binaries
from coordinator.embedded.process import run_as
from coordinator.embedded.settings import configuration_text

USER = "gavial"
FIRST_WITH_BUILTIN_LOCALES = 17


@dataclass(frozen=True, slots=True)
class Cluster:
    """A data directory, the programs that fit it and the account that owns it and its parent."""

    directory: Path
    binaries: Binaries
    account: Account


def major_version(directory: Path) -> int | None:
    """The version that made this cluster; None where there is none."""
    try:
        return int((directory / "PG_VERSION").read_text())
    except FileNotFoundError:
        return None


def make(cluster: Cluster, password: str, settings: Mapping[str, str], *, sync: bool = True) -> None:
    """Run initdb under another name and rename: what is there under the right name is complete."""
    unfinished = cluster.directory.with_name(cluster.directory.name + ".new")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    command: list[str | Path] = [
        cluster.binaries.program("initdb"),
        f"--pgdata={unfinished}",
        f"--username={USER}",
        "--pwfile=/dev/stdin",
        "--auth-local=scram-sha-256",
        "--auth-host=scram-sha-256",
        "--encoding=UTF8",
        "--data-checksums",
        "--no-instructions",
        *locale_options(cluster.binaries.major),
        *([] if sync else ["--no-sync"]),
    ]
    run(cluster, command, text=password + "\n")
    append: list[str | Path] = ["/bin/sh", "-c", 'exec cat >> "$0"', unfinished / "postgresql.conf"]
    run(cluster, append, text="\n# Gavial's defaults\n" + configuration_text(settings))
    unfinished.rename(cluster.directory)


def run(cluster: Cluster, command: list[str | Path], text: str) -> None:
    """Run one step as the cluster's account, or say what went wrong."""
    result = run_as(cluster.account, command, directory=cluster.directory.parent, text=text)
    if result.returncode != 0:
        raise ConfigurationError(
            f"cannot make a database cluster in {cluster.directory}", detail=result.stdout.strip()
        )


def locale_options(major: int) -> list[str]:
    """Byte order and Unicode letters, the same on every machine where it has them."""
    if major >= FIRST_WITH_BUILTIN_LOCALES:
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    probe = "import locale; locale.setlocale(locale.LC_ALL, 'C.UTF-8')"
    known = subprocess.run([sys.executable, "-I", "-S", "-c", probe], capture_output=True, check=False)
    return ["--locale=C.UTF-8" if known.returncode == 0 else "--locale=C"]
