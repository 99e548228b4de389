"""Captures a database until it is killed: `python -m tests.support.capture.captor DSN SLOT HOME`."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

import psycopg

from catalog.capture.store import take_over
from catalog.errors import Fenced
from sources.stream import transactions
from sources.stream.capture import Capture
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse


def epoch_of(session: psycopg.Connection) -> int:
    """Of this process, as soon as the server has noticed that the last one is dead."""
    while True:
        try:
            return take_over(session)
        except Fenced:
            time.sleep(0.05)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    dsn, slot, home = sys.argv[1:]
    transactions.MEMORY_BYTES = 1 << 18  # type: ignore[misc]  # so that little is much
    with psycopg.connect(dsn, autocommit=True) as session:
        capture_site = CaptureSite(dsn, epoch_of(session), Warehouse(f"{home}/warehouse"))
        Capture(capture_site, slot, Path(home, "scratch")).run(lambda: True)


if __name__ == "__main__":
    main()
