"""File names that survive a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def rename_durably(source: Path, target: Path) -> None:
    """Give a complete file its name, and return when that is durable."""
    source.rename(target)
    sync_directory(target.parent)


def sync(file: Path) -> None:
    """Write the content of a file to the disk, whoever wrote it."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Write the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
