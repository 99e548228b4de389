"""What the language costs: traffic that is not ours, and CREATE STANDING QUERY beside what PostgreSQL does in it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import click
import psycopg

from benchmarks.chart import Panel, draw
from benchmarks.measure import Figures, Reading, Target, judge, take_turns
from benchmarks.report import ROOT, header, table, verdict_line, write_json
from dialect.bind import bind
from proxy.frames import ClientFrames, may_be_ours
from proxy.messages import message
from tests.servers import gavial, postgres

QUERIES = ROOT / "tests" / "bind" / "tpch"
SCHEMA = ROOT / "tests" / "bind" / "tables.sql"
RECOGNITION = "recognition us"
CREATION = "CREATE ms"
ADDED = "added ms"
REPEATS = 20_000
SUBJECTS = {
    "a 1 kB SELECT": "SELECT " + ", ".join(f"column_{number} AS c{number}" for number in range(40)) + " FROM t",
    "a 56 B SELECT": "SELECT abalance FROM pgbench_accounts WHERE aid = 83127;",
}
TARGETS = (
    Target("a 1 kB SELECT", RECOGNITION, "search", None, "at most", 2.0),
    Target("TPC-H, all 22", ADDED, "gavial", None, "at most", 50.0),
)


@click.command()
@click.option("--turns", default=5, show_default=True, help="How often everything is measured.")
@click.option("--postgres", "major", default=15, show_default=True, help="Major version of the server.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for language.json and language.png.",
)
def main(turns: int, major: int, out: Path) -> None:
    """Measure how soon ordinary statements are let pass, and what CREATE STANDING QUERY adds to PostgreSQL's work."""
    top = header({"Python": platform.python_version(), "postgres": major, "turns": turns})
    click.echo(top.line())
    readings = [*recognition(turns), *creation(turns, major)]
    verdicts = [judge(target, readings) for target in TARGETS]
    click.echo(table(readings, (RECOGNITION, CREATION, ADDED), "PostgreSQL alone"))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "language.json", top, readings, verdicts)
