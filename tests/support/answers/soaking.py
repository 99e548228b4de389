"""Everything at once, for as long as one likes: see `scripts/soak`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import psycopg

from tests.support.answers.answering import check, refresh
from tests.support.answers.bank import QUERIES, check_answers, transfer
from tests.support.answers.few_batches import Most
from tests.support.answers.killing import VICTIMS, Site
from tests.support.running import servers
from tests.support.running.standing_databases import session

WRITERS: Final = 3
READERS: Final = 2
FEW_SECONDS: Final = 120
PASSING: Final = (
    "SELECT branch, max(balance) AS most FROM account GROUP BY branch",
    "SELECT giver, count(*) AS n FROM transfer GROUP BY giver HAVING count(*) > 2",
    "SELECT id, balance FROM account WHERE NOT EXISTS (SELECT FROM transfer WHERE taker = id)",
    "SELECT t.number, a.branch FROM transfer t JOIN account a ON a.id = t.giver JOIN recent USING (number)",
)
"""Queries that come and go."""


class Soak:
    """Clients that go on whatever is killed; what they find wrong is kept."""

    def __init__(self, dsn: str, choice: random.Random) -> None:
        self._dsn = dsn
        self._choice = choice
        self._stop = threading.Event()
        self._writing = [threading.Lock() for _ in range(WRITERS)]
        self.counts: Counter[str] = Counter()
        self.most = Most()
        self.failures: list[BaseException] = []

    @contextmanager
    def clients(self) -> Iterator[None]:
        """Writers, readers and one who makes and drops queries, while this lasts."""
        works = [self._writer(lock) for lock in self._writing]
        works += [self._reader() for _ in range(READERS)]
        threads = [threading.Thread(target=self._persist, args=(work,)) for work in (*works, self._visitor())]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Nobody writes while this lasts."""
        with ExitStack() as held:
            for lock in self._writing:
                held.enter_context(lock)
            yield

    def _persist(self, work: Callable[[psycopg.Connection], None]) -> None:
        while not self._stop.is_set():
            try:
                with session(self._dsn) as connection:
                    while not self._stop.wait(0.1):
                        work(connection)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                self.counts["disconnected"] += 1
                self._stop.wait(0.5)
            except (AssertionError, psycopg.Error) as error:
                self.failures.append(error)
                return

    def _writer(self, lock: threading.Lock) -> Callable[[psycopg.Connection], None]:
        choice = random.Random(self._choice.random())

        def work(connection: psycopg.Connection) -> None:
            with lock:
                transfer(connection, choice)
            self.counts["transfers"] += 1

        return work

    def _reader(self) -> Callable[[psycopg.Connection], None]:
        last = (0, 0)

        def work(connection: psycopg.Connection) -> None:
            nonlocal last
            found = check_answers(connection)
            assert found >= last, f"a position went back: {last}, {found}"
            self.counts["answers"] += found > last
            last = found

        return work

    def _visitor(self) -> Callable[[psycopg.Connection], None]:
        choice, numbers = random.Random(self._choice.random()), count()

        def work(connection: psycopg.Connection) -> None:
            name = f"passing_{next(numbers)}"
            query, waits = choice.choice(PASSING), choice.random() < 0.5
            ending = "" if waits else " WITH NO DATA"
            connection.execute(f"CREATE STANDING QUERY {name} AS {query}{ending}".encode())
            if waits and choice.random() < 0.5:
                connection.execute(f"REFRESH STANDING QUERY {name}".encode())
            self._stop.wait(choice.uniform(0, 5))
            connection.execute(f"DROP STANDING QUERY {name}".encode())
            self.counts["queries"] += 1

        return work


def main() -> None:
    """Kill something every few seconds; now and then compare everything."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    choice = random.Random(options.seed)
    with (
        tempfile.TemporaryDirectory() as home,
        servers.postgres(18) as server,
        servers.gavial("--proxy-only", upstream=server) as proxy,
    ):
        site = Site(server, proxy.dsn(), Path(home))
        soak = Soak(proxy.dsn(), choice)
        with ExitStack() as ending:
            ending.callback(site.end)
            ending.enter_context(soak.clients())
            _go_on(site, soak, choice, options.minutes)
    sys.exit(1 if soak.failures else 0)


def _go_on(site: Site, soak: Soak, choice: random.Random, minutes: float) -> None:
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end and not soak.failures:
        time.sleep(choice.uniform(1, 15))
        action = choice.choice((*VICTIMS, "refresh", "compare"))
        match action:
            case "refresh":
                with session(site.dsn) as user:
                    refresh(user, *QUERIES)
            case "compare":
                _compare(site, soak)
            case victim:
                site.kill(victim)
        soak.counts[action] += 1
        _look_at_batches(site, soak)
        sys.stdout.write(f"{action}: {dict(soak.counts)}\n")
        sys.stdout.flush()
    _compare(site, soak)
    for failure in soak.failures:
        sys.stdout.write(f"FAILED: {failure!r}\n")


def _look_at_batches(site: Site, soak: Soak) -> None:
    """Buffers have few batches, however long this lasts; while nothing runs, more may come for a moment."""
    end = time.monotonic() + FEW_SECONDS
    with session(site.dsn) as user:
        while True:
            most = Most()
            most.look(user)
            soak.most.batches |= most.batches
            soak.most.bytes |= most.bytes
            if not most.excess:
                break
            if time.monotonic() > end:
                soak.failures.append(AssertionError(f"too many batches: {most.excess} of {most.batches}"))
                break
            time.sleep(1)
    batches, size = (max(most.values(), default=0) for most in (soak.most.batches, soak.most.bytes))
    sys.stdout.write(f"most batches of a buffer: {batches}, most bytes of one: {size}\n")


def _compare(site: Site, soak: Soak) -> None:
    with soak.quiet(), session(site.dsn) as user:
        check(user, *QUERIES)


if __name__ == "__main__":
    main()
