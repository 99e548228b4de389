"""The coordinator's process beside the proxy: started, started again when it ends, stopped."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from psycopg.conninfo import make_conninfo

from catalog.backoff import Backoff
from coordinator.process.orders import Orders
from proxy.settings import Settings

log = logging.getLogger(__name__)

_STOP_SECONDS: Final = 10.0
_SHORTEST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 10.0
"""Shorter than the patience of statements that wait for a coordinator."""
_STEADY_SECONDS: Final = 60.0
"""A process that has run for so long has recovered; its next end is a new one."""


class CoordinatorSupervisor:
    """Looks after one process; the proxy works without it."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._backoff = Backoff(_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS).longer()
        self._start()

    def look(self) -> None:
        """Start it again if it has ended, later each time it ends soon."""
        status = self._process.poll()
        lived = time.monotonic() - self._started
        if status is None or lived < self._backoff.seconds:
            return
        self._backoff = self._backoff.after(lived, _STEADY_SECONDS)
        log.error("the coordinator ended with status %d; starting another", status)
        self._start()

    def stop(self) -> None:
        """Let it end in order; it may be killed at any time."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            log.error("the coordinator did not stop in time")
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "coordinator"], stdin=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdin is not None
        self._process.stdin.write(self._orders.to_line())
        self._process.stdin.flush()


def orders_for(settings: Settings, data: Path, warehouse: str | None) -> Orders:
    """The orders of a coordinator that uses the same login as the proxy.

    Without a warehouse, it lies in the data directory.
    """
    upstream = settings.upstream
    address = make_conninfo(
        host=upstream.host,
        port=upstream.port,
        user=upstream.user,
        password=upstream.password or None,
        dbname=upstream.database,
        sslmode=upstream.sslmode,
        sslrootcert=upstream.sslrootcert or None,
    )
    return Orders(
        address,
        warehouse or str(data.absolute() / "warehouse"),
        settings.log_level,
        settings.engines,
        settings.allow_unbounded_wal,
    )
