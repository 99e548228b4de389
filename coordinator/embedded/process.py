"""Programs run as the server's account, with nothing inherited that could surprise them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from catalog.errors import ConfigurationError
from coordinator.embedded.account import Account

Command: TypeAlias = Sequence[str | Path]

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}
LAUNCHER = Path(__file__).with_name("launch.py")


def run_as(
    account: Account, command: Command, *, directory: Path, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run to the end, with a short `text` as the input; both outputs come back as one text.

    The input is a pipe that belongs to the account, so that it may be named as /dev/stdin.
    """
    reader, writer = os.pipe()
    os.fchown(reader, account.uid, account.gid)
    with os.fdopen(reader) as stdin, os.fdopen(writer, "w") as pipe:
        pipe.write(text)
        pipe.close()
        return subprocess.run(
            launcher(account, command),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=directory,
            env=ENVIRONMENT,
            check=False,
        )


def do_as(account: Account, command: Command, *, directory: Path, text: str = "") -> None:
    """Run to the end what has to succeed."""
    result = run_as(account, command, directory=directory, text=text)
    if result.returncode != 0:
        name = Path(command[0]).name
        raise ConfigurationError(f"{name} failed in {directory}", detail=result.stdout.strip())


def start_as(account: Account, command: Command, *, directory: Path, output: Path) -> subprocess.Popen[bytes]:
    """Start a child that ends when the calling *thread* does, for that is whom the kernel watches.

    It gets a session of its own: Ctrl-C on a terminal passes it by, and the order of stopping stays ours.
    """
    return subprocess.Popen(
        launcher(account, command, output),
        stdin=subprocess.DEVNULL,
        cwd=directory,
        env=ENVIRONMENT,
        start_new_session=True,
    )


def launcher(account: Account, command: Command, output: Path | str = "") -> list[str]:
    """The command line that runs `command` as the account."""
    start = [sys.executable, "-I", "-S", LAUNCHER, account.uid, account.gid, os.getpid(), output]
    return [str(part) for part in (*start, *command)]
