"""The TCP port of the server: the one it had, if nobody else took it."""

from __future__ import annotations

import re
import socket
from pathlib import Path

ADDRESS = "127.0.0.1"


def choose_port(cluster: Path) -> int:
    """The port of the last start if it is free, else one that the system says is."""
    last = last_port(cluster)
    return last if last and is_free(last) else any_port()


def last_port(cluster: Path) -> int | None:
    """The port in the command line that PostgreSQL itself writes down at each start."""
    try:
        match = re.search(r'"port=(\d+)"', (cluster / "postmaster.opts").read_text())
    except FileNotFoundError:
        return None
    return int(match[1]) if match else None


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def any_port() -> int:
    """A port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])
