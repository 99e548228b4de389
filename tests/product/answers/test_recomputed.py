"""A run computes changes or everything from scratch, by what either took before; the result is the same."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.product.answers.test_ahead import QUERY, TABLES, change, choice_of, early
from tests.support.answers.answering import (
    ANSWER_SECONDS,
    answered,
    check,
    wait_until_answered,
    wait_until_nothing_is_stray,
)
from tests.support.capture.databases import one, rows_of
from tests.support.running.servers import Server, wait_until
from tests.support.running.standing_databases import fresh_database

pytestmark = pytest.mark.service

LAST = "SELECT {} FROM gavial.executions WHERE finished IS NOT NULL ORDER BY id DESC LIMIT 1"


def last_run(connection: psycopg.Connection, columns: str) -> tuple[Any, ...]:
    row = connection.execute(LAST.format(columns).encode()).fetchone()
    assert row is not None
    return row


def make_dear(connection: psycopg.Connection, factor: float) -> None:
    """As if all runs that computed changes had taken so many times as much."""
    connection.execute(
        "UPDATE gavial.executions SET measured_work = measured_work * %s WHERE NOT from_scratch", (factor,)
    )


def test_what_is_cheaper_is_done(postgres18: Server) -> None:
    with (
        answered(postgres18) as proxy,
        fresh_database(proxy) as dsn,
        psycopg.connect(dsn, autocommit=True) as user,
    ):
        user.execute(TABLES)
        user.execute(
            "CREATE STANDING QUERY q WITH (FINAL_WORK = 0.1, EXPECT = 'orders 300, lines 300', "
            f"MAX_PACE = 4) AS {QUERY} WITH NO DATA".encode()
        )
        wait_until_answered(user, ["q"])
        assert last_run(user, "from_scratch, changes_work") == (True, None)
        wait_until(lambda: choice_of(user, "q") is not None, "no paces are chosen", ANSWER_SECONDS)
        user.execute("UPDATE gavial.paths SET pace = 1")
        for number in (1, 2):
            change(user, number)
            check(user, "q")
        is_from_scratch, changes, recompute = last_run(user, "from_scratch, changes_work, recompute_work")
        assert not is_from_scratch and changes > 0.0
        assert recompute > 0.0

        make_dear(user, 1e6)
        change(user, 3)
        check(user, "q")
        is_from_scratch, changes, recompute = last_run(user, "from_scratch, changes_work, recompute_work")
        assert is_from_scratch and recompute < changes
        assert one(user, "SELECT met IS NOT NULL FROM gavial.triggers ORDER BY fired DESC LIMIT 1")
        shown = [line for (line,) in user.execute("EXPLAIN (ANALYZE) STANDING QUERY q")]
        assert any(line.startswith("    The last run computed everything from scratch: ") for line in shown)

        wait_until_nothing_is_stray(user, proxy.data / "warehouse")

        early_runs_too(user)
        wait_until_nothing_is_stray(user, proxy.data / "warehouse")

        make_dear(user, 1e-6)
        change(user, 6)
        check(user, "q")
        assert last_run(user, "from_scratch") == (False,)
        user.execute("ALTER STANDING QUERY q SET (METHOD = 'linear')")
        check(user, "q")
        change(user, 7)
        check(user, "q")
        assert last_run(user, "changes_work, recompute_work") == (None, None)


def early_runs_too(user: psycopg.Connection) -> None:
    """An early run that computes everything changes no result; the next one goes on from there."""

    def is_early() -> bool:
        # Paces may be chosen once more at any time after a trigger.
        user.execute("UPDATE gavial.paths SET pace = 4 WHERE pace <> 4")
        return early(user) > 0

    before = rows_of(user, "TABLE q")
    change(user, 4)
    wait_until(is_early, "nothing is computed early", ANSWER_SECONDS)
    assert last_run(user, "from_scratch") == (True,)
    assert rows_of(user, "TABLE q") == before
    make_dear(user, 1e-6)
    change(user, 5)
    check(user, "q")
    assert last_run(user, "from_scratch") == (False,)
    assert one(user, "SELECT met IS NOT NULL FROM gavial.triggers ORDER BY fired DESC LIMIT 1")
    make_dear(user, 1e6)
