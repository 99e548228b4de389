"""The account that the server's processes run as: never root, and never one that we added."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import ConfigurationError

CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """An operating system account; its primary group is the only one its processes keep."""

    name: str
    uid: int
    gid: int


def server_account() -> Account:
    """Ourselves; for root, the first unprivileged account of `CANDIDATES` that exists."""
    if os.geteuid() != 0:
        return account_of(os.geteuid())
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise ConfigurationError(
        "PostgreSQL does not run as root, and there is no unprivileged account to run it",
        detail=f"Looked for the accounts {' and '.join(CANDIDATES)}.",
        hint="Run Gavial as a user, or add a system account named postgres.",
    )


def account_of(uid: int) -> Account:
    """The account with this number, which need not have a name (as in many containers)."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Account(str(uid), uid, os.getegid() if uid == os.geteuid() else uid)
    return Account(entry.pw_name, uid, entry.pw_gid)


def owner_of(path: Path) -> Account:
    """The account that `path` itself belongs to."""
    return account_of(path.lstat().st_uid)
