"""How much memory there is for Spark: of the machine, or of the control group that this process runs in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from catalog.errors import ConfigurationError
from dialect.statements.sizes import size_text

LEAST_MEMORY: Final = 512 << 20
"""Spark itself refuses to start with less than 450 MB, and Java keeps some of what it is given."""

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


def require_memory(wanted: int) -> None:
    """Refuse an amount of memory with which Java would not start, or that this machine does not have."""
    most = memory_bytes()
    machine = size_text(most >> 20 << 20)
    if wanted < LEAST_MEMORY:
        raise ConfigurationError(
            f"--spark-memory is {size_text(wanted)}, and Spark needs at least {size_text(LEAST_MEMORY)}",
            hint=f"This machine has {machine}. Without the option Spark takes a third of that.",
        )
    if wanted > most:
        raise ConfigurationError(
            f"--spark-memory is {size_text(wanted)}, and this machine has {machine}",
            hint="Leave some of it to PostgreSQL. Without the option Spark takes a third of it.",
        )


def _limit(file: Path) -> int | None:
    """What the file says; None where there is no file, or no limit."""
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
