"""Disks that are small, that fill up, and that are away for a while."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_disk(directory: Path, megabytes: int = 4) -> Iterator[Path]:
    """A file system of its own."""
    directory.mkdir()
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", directory], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """There is no room on it."""
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
    except OSError as error:
        assert "No space left" in str(error)
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def written_to_by_nobody(disk: Path) -> Iterator[None]:
    """It can be read, and no more."""
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


@contextmanager
def away(directory: Path) -> Iterator[None]:
    """A directory is not where it was."""
    elsewhere = directory.with_name(f"{directory.name} elsewhere")
    directory.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(directory)
