"""CPU time and memory of a process with all its descendants, read from /proc."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in kB; a page that processes share counts fully in `resident`, by share in `proportional`."""

    resident: int
    proportional: int


def family(root: int) -> tuple[int, ...]:
    """The process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat_fields(int(entry.name))):
            children[int(fields[1])].append(int(entry.name))
    found = [root]
    for process in found:
        found.extend(children[process])
    return tuple(found)


def cpu_seconds(root: int) -> float:
    """User and system time that the family has used so far."""
    return sum(map(_cpu_seconds, family(root)))


def cpu_seconds_below(root: int) -> float:
    """User and system time that the descendants of a process have used so far."""
    return sum(map(_cpu_seconds, family(root)[1:]))


def wait_until_idle(root: int, share: float = 0.1, seconds: float = 3, at_most: float = 600) -> float:
    """Wait until the family uses less than this share of a processor; how many seconds it took."""
    began = time.perf_counter()
    used = cpu_seconds(root)
    while time.perf_counter() - began < at_most:
        time.sleep(seconds)
        before, used = used, cpu_seconds(root)
        if used - before < share * seconds:
            break
    return time.perf_counter() - began


def memory(root: int) -> Memory:
    """The memory of the family, summed."""
    resident = proportional = 0
    for process in family(root):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            match line.split():
                case ["Rss:", kilobytes, "kB"]:
                    resident += int(kilobytes)
                case ["Pss:", kilobytes, "kB"]:
                    proportional += int(kilobytes)
    return Memory(resident, proportional)


def _cpu_seconds(process: int) -> float:
    """What a process has used itself; nothing when it is gone."""
    fields = _stat_fields(process)
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND if fields else 0.0


def _stat_fields(process: int) -> list[str]:
    """/proc/PID/stat from the third field on (state, parent, ...); empty when the process is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()
