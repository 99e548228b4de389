"""Names that are still there after a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def rename_durably(source: Path, target: Path) -> None:
    """Give something complete its name, and return when the disk knows."""
    source.rename(target)
    sync_directory(target.parent)


def sync_directory(directory: Path) -> None:
    """Write the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
