"""Which versions of PostgreSQL the longest tests run on: one of them, or with EVERY_VERSION=1 all."""

from __future__ import annotations

import os
from typing import Final

_ALL: Final = (15, 18)


def versions(usual: int) -> tuple[int, ...]:
    """The versions for a module whose tests take minutes on each."""
    return _ALL if os.environ.get("EVERY_VERSION") == "1" else (usual,)
