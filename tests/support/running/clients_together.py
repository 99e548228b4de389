"""Clients that are at work together while something is tested."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg


@contextmanager
def together(clients: int, work: Callable[[int, threading.Event], None]) -> Iterator[None]:
    """So many clients, by number, while this lasts; each is told when to stop, and none of them may fail."""
    stop = threading.Event()
    failures: list[psycopg.Error] = []

    def run(number: int) -> None:
        try:
            work(number, stop)
        except psycopg.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
