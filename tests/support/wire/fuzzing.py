"""The command behind `scripts/fuzz-wire`: one case after another for as long as it is told to."""

from __future__ import annotations

import itertools
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
import psycopg

from tests.support.running.servers import Gavial, Server, gavial, postgres
from tests.support.wire.broken_sessions import ROLE, Pair, generate, keep
from tests.support.wire.raw_client import Address


@contextmanager
def pair(server: Server, running: Gavial) -> Iterator[Pair]:
    """Both ways to a server, as a role that may do nothing."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(f"create role {ROLE} login password '{ROLE}'")
        who = {"user": ROLE, "password": ROLE}
        try:
            yield Pair(Address.of(server.dsn(**who)), Address.of(running.dsn(**who)))
        finally:
            connection.execute(f"drop role {ROLE}")


def hunt(both: Pair, seeds: Iterator[int], seconds: float) -> Iterator[tuple[int, str]]:
    """The seeds whose cases make a difference, and which; each is kept as a script."""
    deadline = time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > deadline:
            return
        case = generate(seed)
        if both.difference(case) is None:
            continue
        smallest = both.shrunk(case)
        difference = both.difference(smallest) or "not every time"
        yield seed, f"{difference} ({keep(smallest, seed, difference)})"


@click.command()
@click.option("--seed", type=int, help="First seed; every case has the next one.  [default: random]")
@click.option("--minutes", type=float, default=1.0, show_default=True)
@click.option("--cases", type=int, help="Stop after so many.")
@click.option("--major", type=click.Choice(["15", "18"]), default="18", show_default=True)
def main(seed: int | None, minutes: float, cases: int | None, major: str) -> None:
    """Send broken sessions to PostgreSQL directly and through the proxy; both must answer alike."""
    first = secrets.randbelow(1 << 32) if seed is None else seed
    click.echo(f"seed {first}")
    seeds = itertools.islice(itertools.count(first), cases)
    found = 0
    with postgres(int(major)) as server, gavial(upstream=server) as running, pair(server, running) as both:
        for failing, difference in hunt(both, seeds, minutes * 60):
            click.echo(f"seed {failing}: {difference}")
            found += 1
    click.echo(f"{next(seeds, first + (cases or 0)) - first} cases, {found} differences")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
