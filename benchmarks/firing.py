"""What a firing takes, beside computing the result from scratch."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

import click

from benchmarks import firing_questions as questions
from benchmarks import firing_service as service
from benchmarks.firing_questions import Bench
from benchmarks.support.chart import Panel, draw
from benchmarks.support.measure import Reading, Target, judge
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from benchmarks.support.tpch_warehouse import fill
from executors.spark.session import SparkSettings, close_session, open_session

FIGURES = (
    questions.SECONDS,
    questions.CPU,
    questions.MILLISECONDS,
    questions.JOBS,
    questions.IN_PROCESS,
    questions.SHARE,
    questions.FASTER,
    service.SHARE,
    service.FIRST,
)
NEWEST = 0.01
LARGE_SCALE = 10
FIRING = questions.FIRING


def targets(scale: float) -> tuple[Target, ...]:
    """The larger the state, the less a firing is of it."""
    share = 0.1 if scale >= LARGE_SCALE else 0.25
    return (
        Target(questions.LARGE, questions.SECONDS, FIRING, questions.AGAIN, "at most", share),
        Target(questions.NOTHING, questions.MILLISECONDS, FIRING, None, "at most", 10.0),
        Target(questions.NOTHING, questions.JOBS, FIRING, None, "at most", 0.0),
        Target(questions.ALL, questions.FASTER, FIRING, None, "at least", 18.0),
        Target(questions.ALL, questions.SHARE, FIRING, None, "at most", 0.15),
        Target(questions.ALL, questions.SHARE, questions.AUTO, None, "at most", 0.03),
        Target(questions.ALL, questions.FASTER, questions.AUTO, None, "at least", 22.0),
        Target(service.IDLE, service.SHARE, FIRING, None, "at most", 1.0),
        Target(service.DEMONSTRATION, service.FIRST, FIRING, None, "at most", 60.0),
    )


@click.command()
@click.option("--turns", default=5, show_default=True, help="How often everything is measured.")
@click.option("--scale", default=1.0, show_default=True, help="Scale factor of TPC-H.")
@click.option("--postgres", "major", default=15, show_default=True, help="Major version of the server.")
@click.option("--query", "only", multiple=True, help="Of TPC-H only this one, as q03; may be repeated.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for firing.json and firing.png.",
)
def main(turns: int, scale: float, major: int, only: tuple[str, ...], out: Path) -> None:
    """Measure firings: nothing new, few rows to a large state, TPC-H with its newest orders last; idling."""
    top = header({"Python": platform.python_version(), "scale": str(scale), "turns": turns})
    click.echo(top.line())
    with tempfile.TemporaryDirectory(prefix="gavial-firing-") as name:
        readings = [
            *measure(Path(name), scale, turns, only),
            *service.service(turns, major),
            *service.demonstration(turns),
        ]
    verdicts = [judge(target, readings) for target in targets(scale)]
    click.echo(table(readings, FIGURES, questions.TEXT))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "firing.json", top, readings, verdicts)
    cases = tuple(dict.fromkeys(reading.case for reading in readings if reading.case.startswith("q")))
    panels = (
        Panel("TPC-H, wall time", questions.SECONDS, cases),
        Panel("TPC-H, processor time", questions.CPU, cases),
        Panel("A large state", questions.SECONDS, (questions.LARGE,)),
    )
    draw(out / "firing.png", "What firings take", top.line(), panels, readings)


def measure(directory: Path, scale: float, turns: int, only: tuple[str, ...]) -> list[Reading]:
    """Every question, one after another, in one session."""
    laboratory = fill(directory, scale, NEWEST)
    session = open_session(SparkSettings(directory / "spark"))
    try:
        bench = Bench(session, laboratory)
        return [
            *questions.nothing_new(bench, turns),
            *questions.large_state(bench, turns),
            *questions.tpch(bench, turns, only),
        ]
    finally:
        close_session(session)


if __name__ == "__main__":
    main()
