"""The coordinator's process: follows every database of a server that has standing queries."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading

from coordinator.process.orders import Orders
from coordinator.process.server import Server


def main() -> None:
    """Work by the orders on standard input, until SIGTERM or the end of whoever holds its other end."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    orders = Orders.from_line(sys.stdin.buffer.readline())
    logging.basicConfig(
        level=orders.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.captureWarnings(True)
    threading.Thread(target=_await_end, args=(stop,), daemon=True).start()
    Server(orders).follow(stop)
    logging.shutdown()
    # A thread that still waits for the server would keep the process; all of them may be killed at any time.
    os._exit(0)


def _await_end(stop: threading.Event) -> None:
    while sys.stdin.buffer.read(1):
        pass
    stop.set()
