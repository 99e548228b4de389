"""What a first result of many rows takes: seconds, and the memory of the coordinator and of Java."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import psycopg

from benchmarks.support.measure import Figures, Target, judge, take_turns
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from tests.support.running.processes import descendants, most_resident_bytes, resident_bytes
from tests.support.running.servers import Gavial, gavial, postgres
from tests.support.running.standing_databases import fresh_database, session
from tests.support.running.waiting_client import coordinator_of

GAVIAL: Final = "gavial"
POSTGRES: Final = "CREATE TABLE AS"
SECONDS: Final = "s"
COORDINATOR: Final = "coordinator, most MB"
JAVA: Final = "Java, most MB"
AFTER: Final = "Java, MB after a minute"
FIGURES: Final = (SECONDS, COORDINATOR, JAVA, AFTER)
QUERIES: Final = {
    "every row": "SELECT a, b, c, d FROM t WHERE b >= 0",
    "as many groups as rows": "SELECT a, sum(b) AS b, max(c) AS c, max(d) AS d FROM t GROUP BY a",
    "1,000 groups": "SELECT b, count(*) AS n, max(c) AS c FROM t GROUP BY b",
}
IDLE_SECONDS: Final = 60
TARGETS: Final = tuple(Target(case, COORDINATOR, GAVIAL, None, "at most", 500.0) for case in QUERIES)
"""Beside arrangements, of which there are none here."""


@click.command()
@click.option("--rows", default=10_000_000, show_default=True, help="Rows of the table.")
@click.option("--spark-memory", default="1GB", show_default=True, help="As gavial serve takes it.")
@click.option("--turns", default=1, show_default=True, help="How often everything is measured.")
@click.option("--postgres", "major", default=18, show_default=True, help="Major version of the server.")
@click.option("--case", "only", multiple=True, type=click.Choice(tuple(QUERIES)), help="Only this one.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for large.json.",
)
def main(rows: int, spark_memory: str, turns: int, major: int, only: tuple[str, ...], out: Path) -> None:
    """Measure first results that are as large as their table, on Spark, each in a server of its own."""
    top = header({"rows": rows, "--spark-memory": spark_memory, "turns": turns})
    click.echo(top.line())
    readings = [
        reading
        for case, query in QUERIES.items()
        if not only or case in only
        for reading in take_turns(
            case,
            {
                GAVIAL: lambda _turn, query=query: _standing(major, rows, spark_memory, query),  # type: ignore[misc]
                POSTGRES: lambda _turn, query=query: _plain(major, rows, query),  # type: ignore[misc]
            },
            turns,
        )
    ]
    verdicts = [judge(target, readings) for target in TARGETS if not only or target.case in only]
    click.echo(table(readings, FIGURES, POSTGRES))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "large.json", top, readings, verdicts)


def _standing(major: int, rows: int, memory: str, query: str) -> Figures:
    """From CREATE to its result; the table is captured already."""
    with _filled(major, rows, "--engine", "spark", "--spark-memory", memory) as (running, user):
        user.execute("CREATE STANDING QUERY captured AS SELECT count(*) AS n FROM t WHERE a < 0")
        began = time.perf_counter()
        user.execute(f"CREATE STANDING QUERY q AS {query}".encode())
        seconds = time.perf_counter() - began
        java = _java(running)
        figures = {
            SECONDS: seconds,
            COORDINATOR: most_resident_bytes(coordinator_of(running)) / 2**20,
            JAVA: most_resident_bytes(java) / 2**20,
        }
        time.sleep(IDLE_SECONDS)
        return {**figures, AFTER: resident_bytes(java) / 2**20}


def _plain(major: int, rows: int, query: str) -> Figures:
    """PostgreSQL itself, by the same connection."""
    with _filled(major, rows) as (_running, user):
        began = time.perf_counter()
        user.execute(f"CREATE TABLE q AS {query}".encode())
        return {SECONDS: time.perf_counter() - began}


@contextmanager
def _filled(major: int, rows: int, *arguments: str) -> Iterator[tuple[Gavial, psycopg.Connection]]:
    """A table of four narrow columns."""
    with (
        postgres(major) as server,
        gavial(*arguments, upstream=server) as running,
        fresh_database(running) as dsn,
        session(dsn) as user,
    ):
        user.execute(
            "CREATE TABLE t AS SELECT id AS a, (id % 1000)::int4 AS b, id * 7919 AS c, "
            f"date '2020-01-01' + (id % 2000)::int4 AS d FROM generate_series(1::int8, {rows}) AS id"
        )
        user.execute("ANALYZE t")
        yield running, user


def _java(running: Gavial) -> int:
    [found] = [process.pid for process in descendants(running.process.pid) if "java" in process.command]
    return found


if __name__ == "__main__":
    main()
