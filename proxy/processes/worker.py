"""One proxy process: `python -m proxy.processes.worker`, started by `workers.py` with orders on stdin."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import socket
import ssl
import sys
from dataclasses import asdict, dataclass
from typing import Final

import uvloop

from catalog.errors import AdminShutdown
from proxy.net.accept import Acceptor
from proxy.net.counts import Counts
from proxy.net.tls import server_context
from proxy.settings import Settings

log = logging.getLogger(__name__)

READY: Final = b"ready\n"
_DRAIN_STEP_SECONDS: Final = 0.02
_CLOSING_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker is told: who it is, the settings, and descriptors it has inherited."""

    me: int
    workers: int
    settings: str
    listeners: tuple[int, ...]
    counts: int
    inbox: int
    outboxes: tuple[int, ...]

    def to_line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @staticmethod
    def from_line(line: bytes) -> Orders:
        """The value that `to_line` wrote."""
        values = json.loads(line)
        return Orders(
            **{**values, "listeners": tuple(values["listeners"]), "outboxes": tuple(values["outboxes"])}
        )


class Worker:
    """A process's life: accept connections, wait for a signal, let the sessions end."""

    def __init__(self, orders: Orders) -> None:
        self._settings = Settings.from_json(orders.settings)
        self._tls = self._load_tls()
        self._stop = asyncio.Event()
        colleagues = {
            worker: inherited(descriptor)
            for worker, descriptor in enumerate(orders.outboxes)
            if worker != orders.me
        }
        self._acceptor = Acceptor(
            self._settings,
            lambda: self._tls,
            Counts(orders.counts, orders.workers, orders.me),
            colleagues,
        )
        self._listeners = [inherited(descriptor) for descriptor in orders.listeners]
        self._inbox = inherited(orders.inbox)

    async def run(self) -> None:
        """Serve until told to stop; without a word when the process that started us is gone."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        loop.add_reader(sys.stdin.fileno(), os._exit, 1)
        self._acceptor.open(self._listeners, self._inbox)
        os.write(sys.stdout.fileno(), READY)
        self._acceptor.warm()
        await self._stop.wait()
        self._acceptor.close()
        await self._drain()

    async def _drain(self) -> None:
        """End idle sessions at once, the others when they fall idle or their time is over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.limits.drain_seconds
        while self._acceptor.has_connections and loop.time() < deadline + _CLOSING_SECONDS:
            for relay in tuple(self._acceptor.relays):
                if relay.idle or loop.time() > deadline:
                    relay.end(AdminShutdown())
            await asyncio.sleep(_DRAIN_STEP_SECONDS)

    def _load_tls(self) -> ssl.SSLContext | None:
        if not self._settings.tls_cert:
            return None
        return server_context(self._settings.tls_cert, self._settings.tls_key)

    def _reload(self) -> None:
        """SIGHUP: new connections see the certificate as it is now."""
        try:
            self._tls = self._load_tls()
        except OSError as error:
            log.error("the TLS certificate was not reloaded: %s", error)


def inherited(descriptor: int) -> socket.socket:
    """A socket of the process that started us."""
    connection = socket.socket(fileno=descriptor)
    connection.setblocking(False)
    return connection


def main() -> None:
    """Run one worker."""
    orders = Orders.from_line(sys.stdin.buffer.readline())
    level = Settings.from_json(orders.settings).log_level.upper()
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    gc.set_threshold(10_000, 20, 50)

    async def serve() -> None:
        worker = Worker(orders)
        gc.freeze()
        await worker.run()

    uvloop.run(serve())


if __name__ == "__main__":
    main()
