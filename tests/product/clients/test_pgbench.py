"""pgbench through Gavial: every protocol mode, no failed transaction, no lost update."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.product.clients.programs import postgres_program, run
from tests.support.running.servers import Gavial

pytestmark = pytest.mark.service

CLIENTS, TRANSACTIONS = 8, 50

PIPELINE = """
\\startpipeline
select abalance from pgbench_accounts where aid = 1;
update pgbench_tellers set tbalance = tbalance + 1 where tid = 1 + :client_id;
insert into pgbench_history (tid, bid, aid, delta, mtime) values (1 + :client_id, 1, 1, 1, now());
\\endpipeline
"""


@pytest.fixture(params=[15, 18], ids=["pgbench15", "pgbench18"], scope="module")
def pgbench(request: pytest.FixtureRequest) -> str:
    return postgres_program("pgbench", request.param)


@pytest.fixture(scope="module")
def loaded(pgbench: str, gavial_embedded: Gavial) -> Iterator[str]:
    """A database filled by `pgbench -i`."""
    with psycopg.connect(gavial_embedded.dsn(), autocommit=True) as connection:
        connection.execute("create database bench")
        dsn = gavial_embedded.dsn(dbname="bench")
        run(pgbench, "--initialize", "--quiet", "--foreign-keys", dsn)
        with psycopg.connect(dsn) as bench:
            assert bench.execute("select count(*) from pgbench_accounts").fetchone() == (100_000,)
        yield dsn
        connection.execute("drop database bench with (force)")


def transact(pgbench: str, dsn: str, *options: str | Path) -> None:
    done = run(pgbench, "--no-vacuum", f"--client={CLIENTS}", f"--transactions={TRANSACTIONS}", *options, dsn)
    wanted = CLIENTS * TRANSACTIONS
    assert f"number of transactions actually processed: {wanted}/{wanted}" in done.stdout, done.stdout
    assert re.search(r"number of failed transactions: 0 \(0\.000%\)", done.stdout), done.stdout


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_reading_transactions(pgbench: str, loaded: str, mode: str) -> None:
    transact(pgbench, loaded, "--select-only", f"--protocol={mode}")


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_writing_transactions_add_up(pgbench: str, loaded: str, mode: str) -> None:
    with psycopg.connect(loaded, autocommit=True) as connection:
        connection.execute("truncate pgbench_history")
        before = connection.execute("select sum(bbalance) from pgbench_branches").fetchone()
        transact(pgbench, loaded, f"--protocol={mode}")
        assert before is not None
        query = """
            select count(*), sum(delta) + %s,
                (select sum(abalance) from pgbench_accounts), (select sum(bbalance) from pgbench_branches)
            from pgbench_history"""
        count, expected, accounts, branches = connection.execute(query, before).fetchone() or ()
        assert (count, accounts, branches) == (CLIENTS * TRANSACTIONS, expected, expected)


@pytest.mark.parametrize("mode", ["extended", "prepared"])
def test_pipelined_transactions(pgbench: str, loaded: str, mode: str, tmp_path: Path) -> None:
    script = tmp_path / "pipeline.sql"
    script.write_text(PIPELINE)
    with psycopg.connect(loaded, autocommit=True) as connection:
        connection.execute("truncate pgbench_history")
        transact(pgbench, loaded, f"--protocol={mode}", "--file", script)
        query = "select count(*) from pgbench_history"
        assert connection.execute(query).fetchone() == (CLIENTS * TRANSACTIONS,)


def test_connection_for_every_transaction(pgbench: str, loaded: str) -> None:
    transact(pgbench, loaded, "--select-only", "--connect")
