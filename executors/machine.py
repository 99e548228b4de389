"""How much memory there is for engines: of the machine, or of the control group that this process runs in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from catalog.errors import ConfigurationError
from dialect.statements.sizes import size_text

LEAST_MEMORY: Final = 512 << 20
"""Spark itself refuses to start with less than 450 MB, and Java keeps some of what it is given."""

LEAST_IN_PROCESS_MEMORY: Final = 64 << 20
"""With less DuckDB leaves nearly everything to Spark, after an attempt."""

MOST_MEMORY: Final = 31 << 30
"""Beyond that Java's references take twice the room."""

_LIMITS: Final = ("memory.max", "memory/memory.limit_in_bytes")


def memory_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The least of the machine's memory and the limits that are set."""
    limits = [_limit(groups / name) for name in _LIMITS]
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(machine, *(limit for limit in limits if limit is not None), machine)


def default_memory() -> int:
    """A third of the machine's memory, within reason: the rest is PostgreSQL's, and the file cache's."""
    return min(max(memory_bytes() // 3, LEAST_MEMORY), MOST_MEMORY)


def default_memory_budget() -> int:
    """A quarter of the machine's memory, for rows that are kept by key: most of them lie in files that are
    mapped, whose pages the system may take back."""
    return memory_bytes() // 4


def require_memory(wanted: int) -> None:
    """Refuse an amount of memory with which Java would not start, or that this machine does not have."""
    _require(
        "--spark-memory", wanted, "Spark", LEAST_MEMORY, "Without the option Spark takes a third of that."
    )


def require_in_process_memory(wanted: int) -> None:
    """Refuse an amount of memory in which nothing can be computed, or that this machine does not have."""
    way_out = "To have everything computed by Spark, give --in-process-rows 0 or --engine spark."
    _require("--in-process-memory", wanted, "computing in the process", LEAST_IN_PROCESS_MEMORY, way_out)


def _require(option: str, wanted: int, what: str, least: int, way_out: str) -> None:
    most = memory_bytes()
    machine = size_text(most >> 20 << 20)
    if wanted < least:
        raise ConfigurationError(
            f"{option} is {size_text(wanted)}, and {what} needs at least {size_text(least)}",
            hint=f"This machine has {machine}. {way_out}",
        )
    if wanted > most:
        raise ConfigurationError(
            f"{option} is {size_text(wanted)}, and this machine has {machine}",
            hint=f"Leave some of it to PostgreSQL. {way_out}",
        )


def _limit(file: Path) -> int | None:
    """What the file says; None where there is no file, or no limit."""
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
