"""The password of the embedded server: generated, and kept in one file that its owner alone can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from catalog.errors import ConfigurationError
from sources.warehouse.durable import rename_durably

NAME = "password"


def read_password(data: Path) -> str:
    """The password that an existing cluster was made with."""
    try:
        return (data / NAME).read_text().strip()
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the password of the embedded server: {error}",
            hint=f"Put it back into {data / NAME}, mode 0600.",
        ) from None


def make_password(data: Path) -> str:
    """The password for a cluster about to be made; its file is private and complete from the first moment."""
    if (data / NAME).exists():
        return read_password(data)
    password = secrets.token_urlsafe(24)
    unfinished = data / f"{NAME}.new"
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(password + "\n")
        file.flush()
        os.fsync(file.fileno())
    rename_durably(unfinished, data / NAME)
    return password
