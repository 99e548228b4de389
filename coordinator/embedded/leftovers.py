"""What a killed predecessor left: a server that still runs, backends without one, stale lock files."""

from __future__ import annotations

import logging
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from catalog.errors import ConfigurationError
from coordinator.embedded.home import Home
from coordinator.embedded.process import do_as

PROCESSES = Path("/proc")
PROGRAMS = ("postgres", "initdb")
SHELL = "sh"
FAST_SECONDS = 60.0
IMMEDIATE_SECONDS = 15.0

logger = logging.getLogger(__name__)


def clear_leftovers(home: Home) -> None:
    """Leave the home without processes and with no lock file that could be taken for a living server's.

    Needs the lock of the home: whatever runs there then is nobody's.
    """
    if server_processes(home.directory):
        logger.warning("stopping a server left behind in %s", home.directory)
        end_processes(home)
    recorded = recorded_postmaster(home.cluster)
    if recorded is not None and (PROCESSES / str(recorded)).exists():
        # Some other process has that number now, and PostgreSQL would believe that it is a postmaster.
        do_as(home.account, ["/bin/rm", "-f", home.cluster / "postmaster.pid"], directory=home.directory)


def end_processes(home: Home) -> None:
    """A fast shutdown where a postmaster is left, else an immediate one; wait for the last process.

    PostgreSQL does not start while a process of a dead postmaster still holds the shared memory.
    """
    postmaster = recorded_postmaster(home.cluster)
    for shutdown, seconds in ((signal.SIGINT, FAST_SECONDS), (signal.SIGQUIT, IMMEDIATE_SECONDS)):
        running = server_processes(home.directory)
        if postmaster in running:
            send(postmaster, shutdown)
        else:
            for orphan in running:
                send(orphan, signal.SIGQUIT)
        deadline = time.monotonic() + seconds
        while server_processes(home.directory) and time.monotonic() < deadline:
            time.sleep(0.05)
    if remaining := server_processes(home.directory):
        raise ConfigurationError(
            f"processes of an earlier PostgreSQL in {home.directory} do not end",
            detail=f"Process numbers: {', '.join(map(str, remaining))}.",
            hint=f"The log is in {home.logs}.",
        )


def server_processes(directory: Path) -> list[int]:
    """The PostgreSQL processes that work in or below a directory; where /proc is missing, none are seen.

    An initdb that has lost its parent is one of them: it goes on for a while, and then removes what it was
    making, although by then somebody else may be making it.
    """
    processes = []
    for process in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            works_here = (process / "cwd").readlink().is_relative_to(directory)
            if works_here and runs_postgres(process):
                processes.append(int(process.name))
    return sorted(processes)


def runs_postgres(process: Path) -> bool:
    """Whether a process, its directory in /proc, is PostgreSQL's or a shell by which initdb runs one."""
    program = (process / "comm").read_text().removesuffix("\n")
    return program in PROGRAMS or (program == SHELL and b"postgres" in (process / "cmdline").read_bytes())


def recorded_postmaster(cluster: Path) -> int | None:
    """The process number in the cluster's lock file."""
    try:
        return int((cluster / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def send(process: int, number: signal.Signals) -> None:
    """Signal a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(process, number)
