"""How much memory there is for this process: of the machine, or of the control group that it runs in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_LIMITS: Final = ("memory.max", "memory/memory.limit_in_bytes")


def memory_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The least of the machine's memory and the limits that are set."""
    limits = [_limit(groups / name) for name in _LIMITS]
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(machine, *(each for each in limits if each is not None), machine)


def _limit(file: Path) -> int | None:
    """What the file says; None where there is no file, or no limit."""
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
