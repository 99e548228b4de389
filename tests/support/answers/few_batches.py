"""How many batches a buffer may have, however much is written, and load under which that is looked at."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg

from catalog.capture.batch import Batch
from catalog.capture.store import manifest
from catalog.queries.logs import logs
from coordinator.decide.merging import FAN_IN, SMALL_BYTES, SMALL_ROWS, size_of
from tests.support.running.standing_databases import session

NEWEST: Final = 60
"""Batches that come while merging looks elsewhere: capture seals a table at most twenty times a second."""


@dataclass
class Most:
    """The most batches that buffers had, and by how many one of them had more than it may."""

    batches: Counter[str] = field(default_factory=Counter)
    excess: Counter[str] = field(default_factory=Counter)

    def look(self, connection: psycopg.Connection) -> None:
        with connection.transaction():
            known = logs(connection)
            batches = manifest(connection)
        for log in known:
            small = [batch for batch in batches if batch.buffer == log.buffer and _is_small(batch)]
            places = (len(log.stops) + 1) * len({batch.schema_version for batch in small})
            sizes = size_of(sum(batch.rows for batch in small)) + 1
            self.batches[log.buffer] = max(self.batches[log.buffer], log.batches)
            excess = len(small) - places * sizes * (FAN_IN - 1) - NEWEST
            if excess > 0:
                self.excess[log.buffer] = max(self.excess[log.buffer], excess)


def _is_small(batch: Batch) -> bool:
    return batch.rows <= SMALL_ROWS and batch.bytes <= SMALL_BYTES


@contextmanager
def constant_load(dsn: str, *writes: str, seconds: float, rate: int) -> Iterator[Most]:
    """Transactions at a rate, `{n}` being their number, until so many seconds are over."""
    most, stop = Most(), threading.Event()

    def work() -> None:
        began = time.monotonic()
        with session(dsn) as user:
            for number in range(int(rate * seconds)):
                for write in writes:
                    user.execute(write.format(n=number).encode())
                if number % rate == 0:
                    most.look(user)
                if stop.wait(max(0.0, began + number / rate - time.monotonic())):
                    return

    with ThreadPoolExecutor(1) as threads:
        load = threads.submit(work)
        try:
            yield most
            load.result()
        finally:
            stop.set()
