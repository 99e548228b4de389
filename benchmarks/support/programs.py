"""The programs that a benchmark runs, from the PATH or from the test tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.support.address import Address

TOOLS = Path(sys.prefix, "tools", "bin")
OWN = Path(sys.prefix, "bin")


class MissingProgram(Exception):
    """A program that the benchmark needs is not on this machine."""


class FailedProgram(Exception):
    """A program that the benchmark runs ended with an error."""


def find_program(name: str) -> str:
    """The path of a program; the directories of system programs count, even when not on the PATH."""
    places = (os.environ.get("PATH", os.defpath), str(TOOLS), str(OWN), "/usr/sbin", "/usr/local/sbin")
    path = os.pathsep.join(places)
    found = shutil.which(name, path=path)
    if found is None:
        raise MissingProgram(f"{name} was found neither on the PATH nor in {TOOLS}")
    return found


def run(arguments: Sequence[str], address: Address) -> str:
    """What a libpq program printed; when it fails, its error output is the message."""
    result = subprocess.run(
        [find_program(arguments[0]), *arguments[1:]],
        env=address.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise FailedProgram(f"{' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout
