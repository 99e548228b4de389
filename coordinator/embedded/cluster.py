"""One database cluster on disk: made completely or not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from coordinator.embedded.account import Account
from coordinator.embedded.binaries import Binaries
from coordinator.embedded.process import do_as
from coordinator.embedded.settings import configuration_text
from sources.warehouse.durable import rename_durably

USER = "postgres"
DATABASE = "gavial"
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
    """Make everything under another name and rename it: what is there under the right name is complete."""
    unfinished = cluster.directory.with_name(cluster.directory.name + ".new")
    do = partial(do_as, cluster.account, directory=cluster.directory.parent)
    do(["/bin/rm", "-rf", unfinished])
    postgres, initdb = (cluster.binaries.program(name) for name in ("postgres", "initdb"))
    authentication = ["--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--pwfile=/dev/stdin"]
    contents = ["--encoding=UTF8", "--data-checksums", *locale_options(cluster.binaries.major)]
    options = [f"--username={USER}", *authentication, *contents, "--no-instructions", "--no-sync"]
    do([str(initdb), "-D", str(unfinished), *options], text=password + "\n")
    append = ["/bin/sh", "-c", 'exec cat >> "$0"', str(unfinished / "postgresql.conf")]
    do(append, text="\n# Gavial's defaults\n" + configuration_text(settings))
    single = [str(postgres), "--single", "-D", str(unfinished), "-c", "exit_on_error=on", "postgres"]
    do(single, text=f"CREATE DATABASE {DATABASE}\n")
    if sync:
        do([initdb, "-D", unfinished, "--sync-only"])
    rename_durably(unfinished, cluster.directory)


def locale_options(major: int) -> list[str]:
    """Byte order and Unicode letters, the same on every machine where it has them."""
    if major >= FIRST_WITH_BUILTIN_LOCALES:
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    probe = "import locale; locale.setlocale(locale.LC_ALL, 'C.UTF-8')"
    known = subprocess.run([sys.executable, "-I", "-S", "-c", probe], capture_output=True, check=False)
    return ["--locale=C.UTF-8" if known.returncode == 0 else "--locale=C"]
