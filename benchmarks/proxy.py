"""What the proxy costs, beside a direct connection and PgBouncer."""

from __future__ import annotations

import platform
import resource
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click
import psycopg

from benchmarks.proxy_questions import QUESTIONS, Experiment, Plan
from benchmarks.support import pgbouncer
from benchmarks.support.chart import draw
from benchmarks.support.loads import fill
from benchmarks.support.measure import Reading, Verdict, judge
from benchmarks.support.programs import FailedProgram, MissingProgram
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from benchmarks.support.ways import DIRECT, Ground, WrongLegs
from catalog.errors import ConfigurationError
from tests.support.running.servers import make_certificate, postgres

MOST_CLIENTS = 32
SPARE_CONNECTIONS = 100
SERVER_SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


@click.command()
@click.option("--scale", default=20, show_default=True, help="pgbench's scale; 100,000 rows each.")
@click.option("--turns", default=5, show_default=True, help="How often every way is measured in every case.")
@click.option("--seconds", default=4, show_default=True, help="Length of one run of pgbench.")
@click.option("--idle", default=500, show_default=True, help="How many idle connections.")
@click.option("--seed", default=1, show_default=True, help="Seed of pgbench's random keys.")
@click.option("--postgres", default=15, show_default=True, help="Major version of the server.")
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for proxy.json and proxy.png.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(tuple(QUESTIONS)),
    help="Ask this question alone; may be repeated.",
)
def main(out: Path, only: tuple[str, ...], **options: int) -> None:
    """Measure what a connection through Gavial costs, in turns with a direct one and with PgBouncer."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    allow_many_files()
    names = tuple(dict.fromkeys(only)) or tuple(QUESTIONS)
    try:
        measure(Plan(**options), names, out)
    except ConfigurationError as error:
        raise click.ClickException(" ".join(filter(None, (error.message, error.detail)))) from error
    except (MissingProgram, FailedProgram, WrongLegs, psycopg.Error) as error:
        raise click.ClickException(str(error)) from error


def measure(plan: Plan, names: Sequence[str], out: Path) -> None:
    """Ask the questions, print each answer as it is there, and write everything in the end."""
    programs = {"Python": platform.python_version(), "PgBouncer": pgbouncer.version()}
    top = header(programs | asdict(plan))
    click.echo(top.line())
    readings: list[Reading] = []
    verdicts: list[Verdict] = []
    with prepared(plan, tls="tls" in names) as experiment:
        for name in names:
            click.echo(f"measuring {name} ...", err=True)
            question = QUESTIONS[name]
            answer = question.ask(experiment)
            judged = [judge(target, answer) for target in question.targets]
            click.echo(
                "\n".join(["", name, table(answer, question.figures, DIRECT), *map(verdict_line, judged)])
            )
            readings += answer
            verdicts += judged
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "proxy.json", top, readings, verdicts)
    panels = [panel for question in QUESTIONS.values() for panel in question.panels]
    draw(out / "proxy.png", "What the proxy costs", top.line(), panels, readings)
    missed = sum(not verdict.met for verdict in verdicts)
    click.echo(f"\n{missed} of {len(verdicts)} targets missed; see {out}")


@contextmanager
def prepared(plan: Plan, *, tls: bool) -> Iterator[Experiment]:
    """The server with pgbench's tables, and what the questions need to know; not every build has TLS."""
    connections = max(plan.idle, MOST_CLIENTS) + SPARE_CONNECTIONS
    settings = SERVER_SETTINGS | {"max_connections": str(connections)}
    with tempfile.TemporaryDirectory(prefix="benchmark-proxy-") as directory:
        certificate = make_certificate(Path(directory))
        with postgres(plan.postgres, settings=settings, tls=certificate if tls else None) as server:
            ground = Ground(server, connections)
            fill(ground.address(), plan.scale)
            yield Experiment(plan, ground, certificate, Path(directory))


def allow_many_files() -> None:
    """Raise the limit on open files as far as it goes; the programs started from here inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
