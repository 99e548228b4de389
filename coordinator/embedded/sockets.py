"""The directory of the server's socket: private, and with a path that a socket address can hold."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from coordinator.embedded.home import Home
from coordinator.embedded.process import Command, do_as

NAME = "socket"
LONGEST_BYTES = 88  # sun_path has 104 bytes on some systems; /.s.PGSQL.65535 and a zero come behind
SHORT_PARENT = Path("/tmp")


def make_socket_directory(home: Home) -> Path:
    """Last time's, emptied; else a new one in the home, or behind a link where that path is too long."""
    entry = home.directory / NAME
    directory = entry.resolve()
    if is_private(directory, home):
        sweep: Command = ["/bin/sh", "-c", 'rm -f "$0"/.s.PGSQL.*', directory]
        do_as(home.account, sweep, directory=home.directory)
        return directory
    remove_socket_directory(home)
    if len(os.fsencode(entry)) <= LONGEST_BYTES:
        do_as(home.account, ["/bin/mkdir", entry], directory=home.directory)
        return entry
    elsewhere = Path(tempfile.mkdtemp(prefix="gavial-", dir=SHORT_PARENT))
    os.chown(elsewhere, home.account.uid, home.account.gid, follow_symlinks=False)
    do_as(home.account, ["/bin/ln", "-s", elsewhere, entry], directory=home.directory)
    return elsewhere


def is_private(directory: Path, home: Home) -> bool:
    """Whether the account owns it and alone can enter it; in /tmp others could have made it."""
    try:
        status = directory.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == home.account.uid and not status.st_mode & 0o077


def remove_socket_directory(home: Home) -> None:
    """Remove the directory, wherever it is; as the account, which can do no harm with a link of its own."""
    entry = home.directory / NAME
    do_as(home.account, ["/bin/rm", "-rf", entry.resolve(), entry], directory=home.directory)
