"""TPC-H's 22 queries, all standing, while all tables change (G1, G6): pytest tests/answers_tpch.py."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.answering import check, wait_until_answered
from tests.capturing import rows_of
from tests.servers import Server, gavial
from tests.standing import fresh_database, session
from tests.tpchdata import QUERIES, change, load, text_of

pytestmark = pytest.mark.service

BATCHES = 2
SCALE = 0.01


@pytest.fixture
def user(postgres18: Server) -> Iterator[psycopg.Connection]:
    with gavial(upstream=postgres18) as proxy, fresh_database(proxy) as dsn, session(dsn) as connection:
        yield connection


def test_all_answers_under_late_rows_updates_and_deletes(user: psycopg.Connection, tmp_path: Path) -> None:
    load(user, tmp_path, SCALE)
    for query in QUERIES:
        user.execute(f"CREATE STANDING QUERY {query} AS {text_of(query)} WITH NO DATA".encode())
    wait_until_answered(user, QUERIES)
    seen = {query: [rows_of(user, f"TABLE {query}")] for query in QUERIES}
    choice = random.Random(22)
    for _ in range(BATCHES):
        change(user, choice)
        check(user, *QUERIES)
        for query in QUERIES:
            seen[query].append(rows_of(user, f"TABLE {query}"))
    assert not [query for query, answers in seen.items() if not all(answers)], "an answer is empty"
    assert not [query for query, answers in seen.items() if answers[0] == answers[-1]], (
        "an answer is constant"
    )
