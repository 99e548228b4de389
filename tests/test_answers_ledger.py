"""Answers while several clients write: each is that of a whole prefix of commits (G2, G3, G4, G9, G14)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.answering import ANSWER_SECONDS, check, refresh, wait_until_answered
from tests.bank import QUERIES, busy, check_answers, open_bank
from tests.servers import Server, gavial, wait_until
from tests.standing import fresh_database, session

pytestmark = pytest.mark.service

REFRESHES = 2
TRIGGERED = 2


@pytest.fixture
def dsn(postgres18: Server) -> Iterator[str]:
    with gavial(upstream=postgres18) as proxy, fresh_database(proxy) as made:
        yield made


@contextmanager
def read(dsn: str) -> Iterator[list[tuple[int, int]]]:
    """The moments of all answers that a client sees who looks again and again while this lasts."""
    stop, seen, failures = threading.Event(), list[tuple[int, int]](), list[BaseException]()

    def poll() -> None:
        try:
            with session(dsn) as connection:
                while not stop.wait(0.05):
                    seen.append(check_answers(connection))
        except (AssertionError, psycopg.Error) as error:
            failures.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
    assert not failures, failures
    assert seen == sorted(seen), "a position went back"


def test_every_answer_is_that_of_a_prefix_of_commits(dsn: str) -> None:
    with session(dsn) as user:
        open_bank(user)
        for name, query in QUERIES.items():
            user.execute(f"CREATE STANDING QUERY {name} AS {query} WITH NO DATA".encode())
        wait_until_answered(user, QUERIES)
        refresh(user, *QUERIES)
        with read(dsn) as seen, read(dsn) as also_seen, busy(dsn, writers=4, seed=3):
            for _ in range(REFRESHES):
                refresh(user, *QUERIES)
            with user.transaction():
                for name in QUERIES:
                    user.execute(f"ALTER STANDING QUERY {name} SET (TRIGGER = 'every 1 second')".encode())
            before = len(set(seen))
            wait_until(lambda: len(set(seen)) >= before + TRIGGERED, "nothing fires", ANSWER_SECONDS)
        assert len(set(also_seen)) > TRIGGERED
        check(user, *QUERIES)
