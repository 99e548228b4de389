"""Answers while several clients write: each is that of a whole prefix of commits (G2, G3, G4, G9, G14)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest

from tests.support.answers.answering import ANSWER_SECONDS, check, refresh, wait_until_answered
from tests.support.answers.bank import QUERIES, busy, check_answers, create_queries, open_bank
from tests.support.running.servers import Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

REFRESHES = 2
TRIGGERED = 2


@pytest.fixture
def dsn(postgres18: Server) -> Iterator[str]:
    with gavial(upstream=postgres18) as proxy, fresh_database(proxy) as made:
        yield made


@dataclass(slots=True)
class Reading:
    """The moments that a client has seen all answers at, and why it sees no more."""

    moments: list[tuple[int, int]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)


@contextmanager
def read(dsn: str) -> Iterator[Reading]:
    """What a client sees who looks again and again while this lasts."""
    stop, seen = threading.Event(), Reading()

    def poll() -> None:
        try:
            with session(dsn) as connection:
                while not stop.wait(0.05):
                    seen.moments.append(check_answers(connection))
        except (AssertionError, psycopg.Error) as error:
            seen.failures.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
    assert not seen.failures, seen.failures
    assert seen.moments == sorted(seen.moments), "a position went back"


def test_every_answer_is_that_of_a_prefix_of_commits(dsn: str) -> None:
    with session(dsn) as user:
        open_bank(user)
        create_queries(user)
        wait_until_answered(user, QUERIES)
        refresh(user, *QUERIES)
        with read(dsn) as seen, read(dsn) as also_seen, busy(dsn, writers=4, seed=3):
            for _ in range(REFRESHES):
                refresh(user, *QUERIES)
            with user.transaction():
                for name in QUERIES:
                    user.execute(f"ALTER STANDING QUERY {name} SET (TRIGGER = 'every 1 second')".encode())
            before = len(set(seen.moments))
            wait_until(
                lambda: bool(seen.failures) or len(set(seen.moments)) >= before + TRIGGERED,
                "nothing fires",
                ANSWER_SECONDS,
            )
        assert len(set(also_seen.moments)) > TRIGGERED
        check(user, *QUERIES)
