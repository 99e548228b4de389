"""The directory that holds, for root, what an unprivileged account could not reach where the user put it."""

from __future__ import annotations

import os
from pathlib import Path

from catalog.errors import ConfigurationError

VARIABLE = "GAVIAL_SYSTEM_DIR"
DEFAULT = "/var/lib/gavial"


def system_directory() -> Path:
    """The directory, made if need be; one that others may write to is refused, for servers run from it."""
    directory = Path(os.environ.get(VARIABLE) or DEFAULT)
    make_directory(directory)
    status = directory.stat()
    if status.st_uid != 0 or status.st_mode & 0o022:
        raise ConfigurationError(
            f"{directory} must belong to root and be writable by nobody else",
            hint=f"Set {VARIABLE} to another directory.",
        )
    return directory


def make_directory(directory: Path, mode: int = 0o755) -> None:
    """Make one directory with this mode, whatever the umask; an existing one is left as it is."""
    try:
        directory.mkdir(mode)
    except FileExistsError:
        return
    directory.chmod(mode)
