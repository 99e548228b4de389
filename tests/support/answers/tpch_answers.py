"""TPC-H's 22 queries, all standing, while all tables change: also behind `scripts/check-tpch`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import psycopg

from tests.support.answers.answering import refresh, wait_until_answered
from tests.support.answers.tpch_data import QUERIES, change, load, text_of
from tests.support.capture.databases import Rows, one, rows_of
from tests.support.running import servers
from tests.support.running.standing_databases import fresh_database, session

_VIEW: Final = "SELECT view::text FROM gavial.queries WHERE result = to_regclass(%s)"


def answers(
    user: psycopg.Connection, home: Path, scale: float, batches: int, seed: int
) -> Iterator[list[Rows]]:
    """All answers, at first and after each batch of changes; each is PostgreSQL's."""
    load(user, home, scale)
    for query in QUERIES:
        user.execute(f"CREATE STANDING QUERY {query} AS {text_of(query)} WITH NO DATA".encode())
    wait_until_answered(user, QUERIES)
    yield _checked(user)
    choice = random.Random(seed)
    for _ in range(batches):
        change(user, choice)
        refresh(user, *QUERIES)
        yield _checked(user)


def check_liveliness(seen: Sequence[list[Rows]]) -> None:
    """No answer is ever empty, none is always the same: such a one would prove nothing."""
    for query, found in zip(QUERIES, zip(*seen, strict=True), strict=True):
        assert all(found), f"{query} is empty"
        assert len({frozenset(rows.items()) for rows in found}) > 1, f"{query} is constant"


def _checked(user: psycopg.Connection) -> list[Rows]:
    """Every answer, row by row as text, beside what its SELECT gives."""
    found = []
    for query in QUERIES:
        ours = rows_of(user, f"SELECT (q.*)::text FROM {query} q")
        theirs = rows_of(user, f"SELECT (q.*)::text FROM {one(user, _VIEW, query)} q")
        assert ours == theirs, (query, "missing", theirs - ours, "superfluous", ours - theirs)
        found.append(ours)
    return found


def main() -> None:
    """Say after each batch how long it took; an answer that differs ends it."""
    parser = argparse.ArgumentParser(prog="scripts/check-tpch", description=main.__doc__)
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--major", type=int, default=18, choices=(15, 18))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    with (
        tempfile.TemporaryDirectory() as home,
        servers.postgres(options.major) as server,
        servers.gavial(upstream=server) as proxy,
        fresh_database(proxy) as dsn,
        session(dsn) as user,
    ):
        seen, began = [], time.monotonic()
        for found in answers(user, Path(home), options.scale, options.batches, options.seed):
            seen.append(found)
            sys.stdout.write(f"batch {len(seen) - 1}: exact ({time.monotonic() - began:.0f} s)\n")
            sys.stdout.flush()
            began = time.monotonic()
        check_liveliness(seen)


if __name__ == "__main__":
    main()
