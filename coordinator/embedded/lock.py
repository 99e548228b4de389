"""At most one process runs the server of one home."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from catalog.errors import ConfigurationError

PATIENCE_SECONDS = 3.0


def lock(directory: Path, seconds: float = PATIENCE_SECONDS) -> int:
    """Lock a directory until the returned descriptor is closed or the process ends.

    A predecessor that was killed may have children that still hold it, so it is waited for.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise ConfigurationError(
                    f"the PostgreSQL in {directory} is run by another gavial already",
                    hint="Stop that one, or use another data directory.",
                ) from None
            time.sleep(0.1)
        else:
            return descriptor
