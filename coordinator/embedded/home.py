"""Where the embedded server lives: one private directory of its account, always found as DATA/postgres."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import ConfigurationError
from coordinator.embedded.account import Account, owner_of, server_account
from coordinator.embedded.process import do_as
from coordinator.embedded.reach import can_enter
from coordinator.embedded.system import system_directory
from sources.warehouse.durable import rename_durably, sync_directory

NAME = "postgres"


@dataclass(frozen=True, slots=True)
class Home:
    """A directory that its account alone can enter, with the cluster, the logs and the socket."""

    directory: Path
    account: Account

    @property
    def cluster(self) -> Path:
        """PostgreSQL's own data directory."""
        return self.directory / "cluster"

    @property
    def logs(self) -> Path:
        """Everything the server writes for people."""
        return self.directory / "log"


def open_home(data: Path) -> Home:
    """The home of this data directory, made at the first call; the account stays the one that owns it."""
    entry = data / NAME
    if not os.path.lexists(entry):
        make_home(data, server_account())
    if not entry.is_dir():
        raise ConfigurationError(
            f"{entry} leads to {entry.resolve()}, which is not there",
            detail="The server's files were outside the data directory, where its account can reach them.",
            hint="Restore that directory, or use another data directory.",
        )
    home = Home(entry.resolve(), owner_of(entry.resolve()))
    check_owner(home)
    do_as(home.account, ["/bin/mkdir", "-p", home.logs], directory=home.directory)
    return home


def make_home(data: Path, account: Account) -> None:
    """Make the home below `data`, or behind a symbolic link where the account could not reach that."""
    if account.uid == os.geteuid() or can_enter(account, data):
        unfinished = data / f"{NAME}.new"
        with suppress(FileNotFoundError):
            unfinished.rmdir()
        unfinished.mkdir(0o700)
        os.chown(unfinished, account.uid, account.gid, follow_symlinks=False)
        rename_durably(unfinished, data / NAME)
    else:
        outside = system_directory() / secrets.token_hex(8)
        outside.mkdir(0o700)
        os.chown(outside, account.uid, account.gid)
        (data / NAME).symlink_to(outside)
        sync_directory(data)


def check_owner(home: Home) -> None:
    """Refuse a home whose account cannot run the server, or not from here."""
    if home.account.uid == 0:
        raise ConfigurationError(
            f"{home.directory} belongs to root, and PostgreSQL does not run as root",
            hint="Give it back to the account that owned it.",
        )
    if os.geteuid() not in (0, home.account.uid):
        raise ConfigurationError(
            f"{home.directory} belongs to {home.account.name}",
            hint=f"Run Gavial as {home.account.name} or as root, or use another data directory.",
        )
    if not can_enter(home.account, home.directory):
        raise ConfigurationError(
            f"the account {home.account.name} cannot reach {home.directory} any more",
            hint="Restore the permissions of the directories above it, or use another data directory.",
        )
