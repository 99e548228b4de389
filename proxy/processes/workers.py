"""The worker processes: starts them, replaces those that die, stops them."""

from __future__ import annotations

import logging
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Final

from catalog.errors import ConfigurationError
from proxy.net.counts import Counts, make_table
from proxy.processes.worker import READY, Orders
from proxy.settings import Settings

log = logging.getLogger(__name__)

_START_SECONDS: Final = 30.0
_RESPAWN_SECONDS: Final = 0.5
"""A worker that dies sooner than this after its start is not replaced at once."""


@dataclass(slots=True)
class _Started:
    process: subprocess.Popen[bytes]
    at: float


class Workers:
    """A fixed number of processes behind the same listeners."""

    def __init__(self, count: int, settings: Settings, listeners: list[socket.socket]) -> None:
        self._count = count
        self._settings = settings
        self._listeners = listeners
        self._table = make_table(count)
        self._counts = Counts(self._table, count, 0)
        self._mail = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(count)]
        self._started: list[_Started] = []

    def start(self) -> None:
        """Start them all, and return when they accept."""
        self._started = [self._spawn(worker) for worker in range(self._count)]
        for started in self._started:
            self._await_ready(started.process)

    def replace_dead(self) -> None:
        """Start a new process for every one that ended."""
        for worker, started in enumerate(self._started):
            status = started.process.poll()
            if status is None or time.monotonic() < started.at + _RESPAWN_SECONDS:
                continue
            log.error("proxy process %d ended with status %d; starting another", started.process.pid, status)
            self._counts.forget(worker)
            self._started[worker] = self._spawn(worker)

    def signal(self, number: signal.Signals) -> None:
        """Pass a signal on."""
        for started in self._started:
            if started.process.poll() is None:
                started.process.send_signal(number)

    def stop(self, seconds: float) -> None:
        """Let them drain, for so long at most."""
        self.signal(signal.SIGTERM)
        deadline = time.monotonic() + seconds
        for started in self._started:
            try:
                started.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("proxy process %d did not stop in time", started.process.pid)
                started.process.kill()
                started.process.wait()

    def _spawn(self, worker: int) -> _Started:
        inbox = self._mail[worker][0].fileno()
        outboxes = tuple(pair[1].fileno() for pair in self._mail)
        listeners = tuple(listener.fileno() for listener in self._listeners)
        orders = Orders(
            me=worker,
            workers=self._count,
            settings=self._settings.to_json(),
            listeners=listeners,
            counts=self._table,
            inbox=inbox,
            outboxes=outboxes,
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "proxy.processes.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(*listeners, self._table, inbox, *outboxes),
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(orders.to_line())
        process.stdin.flush()
        return _Started(process, time.monotonic())

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(_START_SECONDS) or process.stdout.readline() != READY:
                raise ConfigurationError("a proxy process did not start; its messages are above")
