"""What the operating system knows about the processes under test."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """One process, as it was when looked at."""

    pid: int
    parent: int
    state: str
    command: str


def processes() -> list[Process]:
    """Every process of the machine."""
    found = []
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            found.append(Process(int(entry.name), int(parent), state, command))
    return found


def descendants(pid: int) -> list[Process]:
    """The children of a process, their children, and so on."""
    known = {pid}
    found: list[Process] = []
    everybody = processes()
    while new := [process for process in everybody if process.parent in known and process.pid not in known]:
        known |= {process.pid for process in new}
        found += new
    return found


def proxies(pid: int) -> list[int]:
    """The proxy processes of a `gavial serve`."""
    return [
        descendant.pid
        for descendant in descendants(pid)
        if "proxy.processes.worker" in descendant.command and descendant.state != "Z"
    ]


def alive(pid: int) -> bool:
    """Whether a process runs."""
    return any(process.pid == pid and process.state != "Z" for process in processes())


def resident_bytes(pid: int) -> int:
    """Memory that a process holds."""
    return _bytes(pid, "VmRSS")


def most_resident_bytes(pid: int) -> int:
    """The most memory that a process has held so far."""
    return _bytes(pid, "VmHWM")


def _bytes(pid: int, figure: str) -> int:
    status = (PROC / str(pid) / "status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(f"{figure}:"))
    return int(line.split()[1]) * 1024


def open_files(pid: int) -> int:
    """How many descriptors a process has."""
    return sum(1 for _ in (PROC / str(pid) / "fd").iterdir())
