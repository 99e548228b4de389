"""The seconds that publishing takes of processors: of this thread, and of the server's process behind it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from psycopg import Connection


@dataclass(frozen=True, slots=True)
class PublishingClock:
    """Counts from its creation.

    A server on this machine shows what its process has spent. Of one elsewhere the seconds that pass are
    taken, for this thread waits while it works.
    """

    connection: Connection
    elapsed: float = field(default_factory=time.monotonic)
    own: float = field(default_factory=time.thread_time)
    servers: float | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "servers", spent_by_server(self.connection))

    def seconds(self) -> float:
        """The seconds since it was made."""
        now = spent_by_server(self.connection)
        if now is None or self.servers is None:
            return time.monotonic() - self.elapsed
        return (now - self.servers) + (time.thread_time() - self.own)


def spent_by_server(connection: Connection, processes: Path = Path("/proc")) -> float | None:
    """What the process behind a connection has spent so far; None unless it is seen to run here."""
    process = processes / str(connection.info.backend_pid)
    try:
        if not (process / "comm").read_text().startswith("postgres"):
            return None
        nanoseconds, *_ = (process / "schedstat").read_text().split()
    except (OSError, ValueError):
        return None
    return int(nanoseconds) / 1e9
