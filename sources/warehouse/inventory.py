"""What a warehouse holds beside what manifests name; looked at while others work on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from psycopg import Connection
from pyarrow import fs

from catalog.capture.store import manifest
from catalog.errors import DamagedBatch, Error
from sources.warehouse.warehouse import Warehouse

_INSTALLATION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that the manifest names and that is not what was written."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """The files of one installation: those that are named, and those that are not (yet, or any more)."""

    files: int
    bytes: int
    unnamed: dict[str, int]
    damaged: tuple[Damage, ...]


def take_inventory(
    connection: Connection, warehouse: Warehouse, *, whole: bool, looked: Callable[[int, int], None]
) -> Inventory:
    """Compare files with the manifest: by their size, and if `whole`, byte by byte.

    `looked` is told how many files of how many were looked at. A batch may be merged with others meanwhile:
    only what the manifest still names afterwards is damaged.
    """
    named = manifest(connection)
    sizes = warehouse.sizes()
    suspects = []
    for number, batch in enumerate(named):
        looked(number, len(named))
        try:
            if sizes.get(batch.file) != batch.bytes:
                size = sizes.get(batch.file)
                what = "is missing" if size is None else f"has {size} bytes in place of {batch.bytes}"
                raise DamagedBatch(f"batch {batch.file} {what}")
            if whole:
                warehouse.verify(batch)
        except Error as error:
            suspects.append(Damage(batch.file, error.message))
    still = {batch.file for batch in manifest(connection)} if suspects else set()
    known = {batch.file for batch in named} | {batch.file for batch in manifest(connection)}
    return Inventory(
        len(named),
        sum(batch.bytes for batch in named),
        {file: size for file, size in sizes.items() if file not in known},
        tuple(damage for damage in suspects if damage.file in still),
    )


def left_over(connection: Connection, warehouse: Warehouse, before: datetime) -> dict[str, int]:
    """Files that were written before a moment and that no manifest names, with their sizes.

    They are listed before the manifest is read: what is named meanwhile is not among them.
    """
    old = warehouse.older_than(before)
    named = {batch.file for batch in manifest(connection)}
    return {file: size for file, size in old.items() if file not in named}


def installations_in(uri: str) -> dict[str, int]:
    """The installations that have a folder in a warehouse, with the bytes in it."""
    return {name: sum(Warehouse(f"{uri}/{name}").sizes().values()) for name in _folders(uri)}


def remove_installation(uri: str, name: str) -> None:
    """Remove the folder of an installation, with all that is in it."""
    if not _INSTALLATION.fullmatch(name):
        raise ValueError(name)
    Warehouse(uri).discard(name)


def _folders(uri: str) -> Iterator[str]:
    files, root = _place(uri)
    for info in files.get_file_info(fs.FileSelector(root, allow_not_found=True)):
        if info.type is fs.FileType.Directory and _INSTALLATION.fullmatch(info.base_name):
            yield info.base_name


def _place(uri: str) -> tuple[fs.FileSystem, str]:
    if "://" in uri or uri.startswith("file:"):
        files, root = fs.FileSystem.from_uri(uri)
        return files, root
    return fs.LocalFileSystem(), str(Path(uri).absolute())
