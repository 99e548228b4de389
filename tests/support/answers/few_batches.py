"""How many batches a buffer may have, however much is written, and load under which that is looked at."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg

from catalog.capture.batch import Batch
from catalog.capture.sizes import is_small
from catalog.capture.store import manifest
from catalog.queries.logs import Log, logs
from coordinator.decide.merging import FAN_IN, size_of
from tests.support.running.standing_databases import session

NEWEST: Final = 60
"""Batches that come while merging looks elsewhere: capture seals a table at most twenty times a second."""


@dataclass
class Most:
    """The most batches that buffers had, and by how many one of them had more than it may; the most bytes."""

    batches: Counter[str] = field(default_factory=Counter)
    excess: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)

    def look(self, connection: psycopg.Connection) -> None:
        with connection.transaction():
            known = logs(connection)
            batches = manifest(connection)
        for log in known:
            own = [batch for batch in batches if batch.buffer == log.buffer]
            size = sum(batch.bytes for batch in own)
            self.batches[log.buffer] = max(self.batches[log.buffer], len(own))
            self.bytes[log.buffer] = max(self.bytes[log.buffer], size)
            excess = len(own) - most_batches(log, own)
            if excess > 0:
                self.excess[log.buffer] = max(self.excess[log.buffer], excess)


def most_batches(log: Log, batches: Sequence[Batch]) -> int:
    """How many a buffer may have: large ones, between two stops FAN_IN - 1 of each size, and the newest."""
    small = [batch for batch in batches if is_small(batch.rows, batch.bytes)]
    places = (len(log.stops) + 1) * len({batch.schema_version for batch in small})
    sizes = size_of(sum(batch.rows for batch in small)) + 1
    return len(batches) - len(small) + places * sizes * (FAN_IN - 1) + NEWEST


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
