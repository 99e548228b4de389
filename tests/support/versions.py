"""How much the longest tests do: not all of it, but with EVERY_VERSION=1 and EVERY_CHANGE=1."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

_ALL: Final = (15, 18)


def versions(usual: int) -> tuple[int, ...]:
    """The versions of PostgreSQL for a module whose tests take minutes on each."""
    return _ALL if os.environ.get("EVERY_VERSION") == "1" else (usual,)


def batches(changes: Sequence[str]) -> tuple[str, ...]:
    """Changes between which results are compared: all of them, or the first alone and the others as one."""
    if os.environ.get("EVERY_CHANGE") == "1" or len(changes) < 2:
        return tuple(changes)
    return changes[0], "; ".join(changes[1:])
