"""What capture costs, and how fast it is: beside programs that only receive the same bytes."""

from __future__ import annotations

import platform
import subprocess
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import click

from benchmarks import capture_old_rows as old_rows
from benchmarks import capture_questions as questions
from benchmarks.capture_questions import Laboratory
from benchmarks.support.measure import Reading, Target, judge
from benchmarks.support.programs import find_program
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from tests.support.capture.databases import enrol, install
from tests.support.running.servers import postgres

FIGURES = (
    questions.SECONDS,
    questions.PER_SECOND,
    questions.CPU,
    questions.MILLISECONDS,
    questions.TAIL,
    questions.WAL,
    questions.SHARE,
    old_rows.WRITER,
    old_rows.CPU,
    old_rows.PER_ROW,
)
QUESTIONS = ("copy", "stream", "latency", "idle", "writers", "old-row")
TARGETS = (
    Target(questions.COPY, questions.SECONDS, questions.OURS, questions.COPY_PROGRAM, "at most", 3.0),
    Target(questions.STREAM, questions.PER_SECOND, questions.OURS, questions.STREAM_PROGRAM, "at least", 0.8),
    Target(questions.STREAM, questions.CPU, questions.OURS, None, "at most", 4.0),
    Target(questions.LATENCY, questions.MILLISECONDS, questions.OURS, None, "at most", 100),
    Target(questions.WRITERS, questions.MILLISECONDS, questions.OURS, questions.NOTHING, "at most", 1.2),
    Target(questions.IDLE, questions.SHARE, questions.OURS, None, "at most", 2.0),
)
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "max_slot_wal_keep_size": "8GB",
}


@click.command()
@click.option("--turns", default=3, show_default=True, help="How often everything is measured.")
@click.option(
    "--only",
    type=click.Choice(QUESTIONS),
    multiple=True,
    help="Ask only this; may be repeated.",
)
@click.option("--scale", default=0.1, show_default=True, help="Scale factor of TPC-H.")
@click.option("--seconds", default=10, show_default=True, help="Length of a run of pgbench.")
@click.option("--postgres", "major", default=15, show_default=True, help="Major version of the server.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for capture.json.",
)
def main(turns: int, only: tuple[str, ...], scale: float, seconds: int, major: int, out: Path) -> None:
    """Measure copies, the stream, its latency, what writers pay, and idling."""
    top = header(
        {"Python": platform.python_version(), "postgres": major, "scale": str(scale), "turns": turns}
    )
    click.echo(top.line())
    with (
        tempfile.TemporaryDirectory(prefix="gavial-capture-") as directory,
        postgres(major, settings=DURABLE) as server,
    ):
        install(server.dsn())
        laboratory = Laboratory(server, Path(directory), lineitem(scale, Path(directory)))
        readings = measure(laboratory, only or QUESTIONS, turns, seconds)
    asked = {reading.case for reading in readings}
    verdicts = [judge(target, readings) for target in TARGETS if target.case in asked]
    click.echo(table(readings, FIGURES, questions.NOTHING))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "capture.json", top, readings, verdicts)


def measure(laboratory: Laboratory, asked: Collection[str], turns: int, seconds: int) -> list[Reading]:
    """The questions that are asked, one after another."""
    connection = laboratory.connection
    connection.execute((ROOT / "proxy/command/demonstration/tpch.sql").read_bytes())
    connection.execute("CREATE TABLE public.lineitem (LIKE tpch.lineitem)")
    connection.execute("CREATE TABLE public.followed (LIKE tpch.lineitem)")
    connection.execute("CREATE TABLE public.trickle (text text)")
    connection.execute("RESET search_path")
    laboratory.load("lineitem")
    enrol(connection, ["followed", "trickle"])
    answers: dict[str, Callable[[], tuple[Reading, ...]]] = {
        "copy": lambda: questions.copying(laboratory, turns),
        "stream": lambda: questions.streaming(laboratory, turns),
        "latency": lambda: questions.following(laboratory, turns),
        "idle": lambda: questions.idling(laboratory, turns),
        "writers": lambda: questions.writers(laboratory, turns, seconds),
        "old-row": lambda: old_rows.old_rows(laboratory, turns, seconds),
    }
    return [reading for name in QUESTIONS if name in asked for reading in answers[name]()]


def lineitem(scale: float, directory: Path) -> Path:
    """TPC-H's largest table as a file."""
    command = [find_program("tpchgen-cli"), "csv", "--scale-factor", str(scale), "--tables", "lineitem"]
    subprocess.run([*command, "--output-dir", str(directory)], check=True, stdout=subprocess.DEVNULL)
    return directory / "lineitem.csv"


if __name__ == "__main__":
    main()
