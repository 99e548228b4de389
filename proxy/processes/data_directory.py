"""The data directory of a `gavial serve`, which is one process's alone while it runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from catalog.errors import ConfigurationError
from coordinator.embedded.postgres import make_data_directory


@contextlib.contextmanager
def locked(data: Path) -> Iterator[Callable[[], bool]]:
    """The data directory, made if need be, is ours alone; what is given tells whether it still is."""

    def is_ours() -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(data / "lock"))
        except FileNotFoundError:
            return False

    try:
        make_data_directory(data)
        descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot use the data directory {data}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ConfigurationError(
            f"another gavial uses the data directory {data}", hint="Stop it, or choose another with --data."
        ) from None
    try:
        yield is_ours
    finally:
        os.close(descriptor)


def in_use(data: Path) -> bool:
    """Whether a gavial runs with this data directory; an address that a killed one left is none."""
    try:
        descriptor = os.open(data / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
