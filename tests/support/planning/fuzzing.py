"""Random queries for as long as one likes: see `scripts/fuzz-queries`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Iterator
from itertools import count, islice
from random import SystemRandom

from tests.support.planning.differential import judging, keep_seed
from tests.support.running import servers


def main() -> None:
    """Judge seed after seed; keep those that differ."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz-queries", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1_000_000), help="the first one")
    parser.add_argument("--seeds", type=int, help="how many; none: until it is interrupted")
    parser.add_argument("--queries", type=int, default=20, help="of each seed; the tests take 20")
    parser.add_argument("--major", type=int, default=18, choices=(15, 18))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is stopped on the way out
    seeds = islice(count(options.seed), options.seeds)
    with servers.postgres(options.major) as server:
        differing = asyncio.run(fuzz(server.dsn(), seeds, options.queries))
    sys.exit(1 if differing else 0)


async def fuzz(dsn: str, seeds: Iterator[int], queries: int) -> int:
    """How many queries differ."""
    async with judging(dsn) as judge:
        for seed in seeds:
            before = len(judge.differences)
            await judge.judge(seed, queries)
            for difference in judge.differences[before:]:
                sys.stdout.write(f"{difference}\n\n")
            if judge.differences[before:]:
                keep_seed(seed)
            sys.stdout.write(f"up to seed {seed}: {dict(judge.counts)}\n")
            sys.stdout.flush()
        return len(judge.differences)


if __name__ == "__main__":
    main()
