"""Which batches are small: there may be few of them, so many are merged into a larger one."""

from __future__ import annotations

from typing import Final

SMALL_ROWS: Final = 250_000
SMALL_BYTES: Final = 16 << 20


def is_small(rows: int, size: int) -> bool:
    """Whether a file of so many rows and bytes is merged with others when there are enough.

    What a copy writes is not, so that no row of it is written twice: its memory is bounded by SMALL_BYTES.
    """
    return rows <= SMALL_ROWS and size <= SMALL_BYTES
