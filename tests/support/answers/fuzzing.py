"""Random histories for as long as one likes: see `scripts/fuzz-answers`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import count, islice
from pathlib import Path
from random import Random, SystemRandom

import psycopg
from psycopg import AsyncConnection
from pyspark.sql import SparkSession

from catalog.postgres.signatures import Signatures
from catalog.postgres.signatures_reader import read_signatures
from executors.spark.executor import SparkExecutor
from executors.spark.session import SparkSettings, close_session, open_session
from sources.warehouse.warehouse import Warehouse
from tests.support.answers.histories import Player
from tests.support.answers.mixed_engines import Engines
from tests.support.capture.databases import install
from tests.support.running import servers
from tests.support.running.servers import Server


@contextmanager
def spark(home: Path) -> Iterator[SparkSession]:
    """A session of Spark on this machine."""
    opened = open_session(SparkSettings(home, master="local[2]"))
    try:
        yield opened
    finally:
        close_session(opened)


@contextmanager
def playing(server: Server, session: SparkSession | None, warehouse: Path) -> Iterator[Player]:
    """A player in a database of its own; no plan is prepared, since views of one name come and go."""
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE histories")
        dsn = server.dsn(dbname="histories")
        install(dsn)
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            connection.execute("SET TimeZone = 'UTC'; SET jit = off; SET statement_timeout = '20s'")
            large = None if session is None else SparkExecutor(session)
            with closing(Engines(large, Random(0))) as engines:
                yield Player(connection, engines, Warehouse(str(warehouse)), asyncio.run(_signatures(dsn)))
        admin.execute("DROP DATABASE histories")


async def _signatures(dsn: str) -> Signatures:
    async with await AsyncConnection.connect(dsn) as connection:
        return await read_signatures(connection)


def main() -> None:
    """Play seed after seed, and say what differs."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz-answers", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1_000_000), help="the first one")
    parser.add_argument("--seeds", type=int, help="how many; none: until it is interrupted")
    parser.add_argument("--queries", type=int, default=12, help="of each seed; the tests take 12")
    parser.add_argument("--without-java", action="store_true", help="what is left to Spark is not computed")
    parser.add_argument("--major", type=int, default=18, choices=(15, 18))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is stopped on the way out
    with (
        tempfile.TemporaryDirectory() as home,
        servers.postgres(options.major) as server,
        nullcontext() if options.without_java else spark(Path(home, "spark")) as session,
        playing(server, session, Path(home, "warehouse")) as player,
    ):
        for seed in islice(count(options.seed), options.seeds):
            before = len(player.differences)
            player.play(seed, options.queries)
            for difference in player.differences[before:]:
                sys.stdout.write(f"{difference}\n\n")
            sys.stdout.write(
                f"up to seed {seed}: {dict(player.counts)}, firings: {dict(player.engines.counts)}\n"
            )
            sys.stdout.flush()
        sys.exit(1 if player.differences else 0)


if __name__ == "__main__":
    main()
