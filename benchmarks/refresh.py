"""What REFRESH takes after a thousand changed rows, beside PostgreSQL's own SELECT and materialized view."""

from __future__ import annotations

import platform
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import click
import psycopg

from benchmarks.support.chart import Panel, draw
from benchmarks.support.measure import Figures, Reading, Target, by_turn, judge, ratio, take_turns
from benchmarks.support.processes import cpu_seconds, wait_until_idle
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from benchmarks.support.tpch_changes import SETTINGS, change_thousand
from tests.support.answers.answering import check, wait_until_answered
from tests.support.answers.tpch_data import QUERIES, load, text_of
from tests.support.running.servers import Gavial, Server, gavial, postgres, processes_below
from tests.support.running.standing_databases import fresh_database, session

REFRESH: Final = "REFRESH"
SELECT: Final = "PostgreSQL's SELECT"
VIEW: Final = "materialized view"
SECONDS: Final = "s"
CPU: Final = "CPU s"
ALL: Final = "TPC-H, 1,000 changed rows"
SHARE: Final = "median share of SELECT"
CHEAPER: Final = "queries cheaper than the view"
MANY: Final = "100 GROUP BYs, 5,000 rows"
GROUP_BYS: Final = 100
WARM_TURNS: Final = 2

TARGETS: Final = (
    Target(ALL, SHARE, REFRESH, None, "at most", 0.1),
    Target(ALL, CHEAPER, REFRESH, None, "at least", 22.0),
    Target(MANY, SECONDS, REFRESH, None, "at most", 5.0),
)


@click.command()
@click.option("--turns", default=3, show_default=True, help="How often everything is measured.")
@click.option("--scale", default=0.5, show_default=True, help="Scale factor of TPC-H.")
@click.option("--postgres", "major", default=18, show_default=True, help="Major version of the server.")
@click.option("--query", "only", multiple=True, help="Of TPC-H only this one, as q03; may be repeated.")
@click.option("--seed", default=1, show_default=True, help="Which rows change.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for refresh.json and refresh.png.",
)
def main(turns: int, scale: float, major: int, only: tuple[str, ...], seed: int, out: Path) -> None:
    """Measure REFRESH of TPC-H's queries one by one, and of a hundred small queries together."""
    top = header({"Python": platform.python_version(), "scale": str(scale), "turns": turns, "seed": seed})
    click.echo(top.line())
    with postgres(major, settings=SETTINGS) as server, gavial(upstream=server) as running:
        readings = [*many(running, turns), *tpch(server, running, scale, only or QUERIES, seed, turns)]
    verdicts = [judge(target, readings) for target in TARGETS]
    click.echo(table(readings, (SECONDS, CPU, SHARE, CHEAPER), SELECT))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "refresh.json", top, readings, verdicts)
    cases = tuple(dict.fromkeys(reading.case for reading in readings if reading.case.startswith("q")))
    panels = (Panel("TPC-H, wall time", SECONDS, cases), Panel("TPC-H, processor time", CPU, cases))
    draw(out / "refresh.png", "REFRESH after 1,000 changed rows", top.line(), panels, readings)


def many(running: Gavial, turns: int) -> Iterator[Reading]:
    """Many small queries over one table, refreshed by one statement."""
    names = [f"q{number}" for number in range(GROUP_BYS)]
    with fresh_database(running) as dsn, session(dsn) as user:
        user.execute("CREATE TABLE t (id int PRIMARY KEY, g int, v numeric(12, 2))")
        user.execute("INSERT INTO t SELECT i, i % 100, i FROM generate_series(1, 5000) AS i")
        for number, name in enumerate(names):
            query = f"SELECT g, sum(v) AS s, count(*) AS n FROM t WHERE id % 100 <> {number} GROUP BY g"
            user.execute(f"CREATE STANDING QUERY {name} AS {query} WITH NO DATA".encode())
        wait_until_answered(user, names)

        def refresh(turn: int) -> Figures:
            user.execute(f"UPDATE t SET v = v + 1 WHERE id % 50 = {turn}".encode())
            return {SECONDS: _seconds(user, f"REFRESH STANDING QUERY {', '.join(names)}")}

        for turn in range(WARM_TURNS):
            refresh(turn)
        yield from take_turns(MANY, {REFRESH: lambda turn: refresh(turn + WARM_TURNS)}, turns)
        check(user, *names)


def tpch(
    server: Server, running: Gavial, scale: float, names: tuple[str, ...], seed: int, turns: int
) -> Iterator[Reading]:
    """Each query while it is the only one: all ways see the same changed rows."""
    with (
        fresh_database(running) as dsn,
        session(dsn) as user,
        tempfile.TemporaryDirectory(prefix="gavial-refresh-") as home,
    ):
        load(user, Path(home), scale)
        choice, readings = random.Random(seed), list[Reading]()
        for name in names:
            with _standing(user, name):
                ways = _Ways(user, name, scale, choice, server, running)
                for turn in range(WARM_TURNS):
                    ways.refresh(turn)
                waited = wait_until_idle(running.process.pid)
                click.echo(f"{name}: Gavial's own work after the load took {waited:.0f} s more")
                measured = take_turns(
                    name, {REFRESH: ways.refresh, SELECT: ways.select, VIEW: ways.view}, turns
                )
                check(user, name)
            click.echo(table(measured, (SECONDS, CPU), SELECT))
            readings += measured
        yield from readings
        yield Reading(ALL, REFRESH, 0, _summary(readings, names))


@dataclass(frozen=True, slots=True)
class _Ways:
    """A query's result after changes, in three ways that see the same rows."""

    user: psycopg.Connection
    name: str
    scale: float
    choice: random.Random
    server: Server
    running: Gavial

    def refresh(self, _turn: int) -> Figures:
        """Changes come, then the standing query is refreshed."""
        change_thousand(self.user, self.scale, self.choice.randrange(1 << 30))
        return self._measured(f"REFRESH STANDING QUERY {self.name}")

    def select(self, _turn: int) -> Figures:
        """PostgreSQL computes the query."""
        return self._measured(text_of(self.name))

    def view(self, _turn: int) -> Figures:
        """PostgreSQL computes it, and writes the result."""
        return self._measured(f"REFRESH MATERIALIZED VIEW {self.name}_view")

    def _measured(self, statement: str) -> Figures:
        """What a statement takes by the clock, and of the processors, in Gavial and the server together."""
        postmaster = int((self.server.cluster.directory / "postmaster.pid").read_text().split()[0])
        processes = {process for process in processes_below(self.server.home) if process != postmaster}
        before = {process: cpu_seconds(process) for process in (*processes, self.running.process.pid)}
        seconds = _seconds(self.user, statement)
        return {SECONDS: seconds, CPU: sum(cpu_seconds(process) - used for process, used in before.items())}


def _summary(readings: list[Reading], names: tuple[str, ...]) -> Figures:
    shares = [ratio(readings, name, SECONDS, REFRESH, SELECT) for name in names]
    cheaper = 0
    for name in names:
        refreshes, views = (by_turn(readings, name, way, SECONDS).values() for way in (REFRESH, VIEW))
        cheaper += median(refreshes) < median(views)
    return {SHARE: median(share.median for share in shares if share is not None), CHEAPER: float(cheaper)}


@contextmanager
def _standing(user: psycopg.Connection, name: str) -> Iterator[None]:
    """The query as a standing one and as a materialized view."""
    user.execute(f"CREATE STANDING QUERY {name} AS {text_of(name)} WITH NO DATA".encode())
    user.execute(f"CREATE MATERIALIZED VIEW {name}_view AS {text_of(name)}".encode())
    wait_until_answered(user, [name])
    yield
    user.execute(f"DROP MATERIALIZED VIEW {name}_view".encode())
    user.execute(f"DROP STANDING QUERY {name}".encode())


def _seconds(user: psycopg.Connection, statement: str) -> float:
    began = time.perf_counter()
    cursor = user.execute(statement.encode())
    if cursor.description is not None:
        cursor.fetchall()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
